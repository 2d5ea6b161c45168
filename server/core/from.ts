import type { RawRequest } from './contract.ts'

/** Where a request comes from, as sessions and the audit log keep it. */
export interface From {
  readonly ip: string
  /** The User-Agent: printable ASCII, at most 200 characters. */
  readonly agent: string
}

/** Where a request comes from. A browser may claim anything; the text is kept for its owner to recognise. */
export function fromOf({ clientIp, headers }: Pick<RawRequest, 'clientIp' | 'headers'>): From {
  return { ip: clientIp, agent: (headers['user-agent'] ?? '').replace(/[^\x20-\x7e]/g, '').slice(0, 200) }
}
