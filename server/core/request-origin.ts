import type { RawRequest } from './contract.ts'

/** The origin of a request, as sessions and the audit log keep it. */
export interface From {
  readonly ip: string
  /** The User-Agent: printable ASCII, at most 200 characters. */
  readonly agent: string
}

/** The origin of a request. A browser may claim any User-Agent: it is only there for its owner to recognise. */
export function fromOf({ clientIp, headers }: Pick<RawRequest, 'clientIp' | 'headers'>): From {
  return { ip: clientIp, agent: (headers['user-agent'] ?? '').replace(/[^\x20-\x7e]/g, '').slice(0, 200) }
}
