import type { RegistryAnswer } from '../protocol.ts'

/** An answer that is one sentence: pip and twine show the text after the status code, uv the body. */
export const plain = (status: number, said: string): RegistryAnswer => ({
  status,
  reason: said,
  type: 'text/plain; charset=utf-8',
  headers: { 'Cache-Control': 'no-store' },
  body: { kind: 'bytes', bytes: `${said}\n` },
})
