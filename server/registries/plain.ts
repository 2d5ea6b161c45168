import type { RegistryAnswer } from './protocol.ts'

/**
 * An answer that is one sentence: some clients show the text after the status code, others the body.
 * @param reason  the text after the status code; `said` where it is absent
 */
export const plain = (status: number, said: string, reason: string = said): RegistryAnswer => ({
  status,
  reason,
  type: 'text/plain; charset=utf-8',
  headers: { 'Cache-Control': 'no-store' },
  body: { kind: 'bytes', bytes: `${said}\n` },
})
