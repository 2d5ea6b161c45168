import type { X509Certificate } from 'node:crypto'
import { request } from 'node:https'
import { connect } from 'node:tls'

export interface Answer {
  readonly status: number
  readonly bytes: Buffer
  readonly body: Record<string, unknown>
  /** What its clock says. */
  readonly date: Date
}
export interface Call {
  readonly token?: string | undefined
  readonly json?: unknown
  readonly bytes?: Buffer
  readonly headers?: Readonly<Record<string, string>>
}
export type CallTo = (method: string, path: string, call?: Call) => Promise<Answer>

/** The certificate above that of the server, as it is shown to whoever connects. */
export function shownAuthority(port: number): Promise<X509Certificate> {
  return new Promise((resolve, reject) => {
    // looked at, and compared with the screen; nothing is sent
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, timeout: 10_000 }, () => {
      const above = socket.getPeerX509Certificate()?.issuerCertificate
      socket.destroy()
      if (above === undefined) reject(new Error('the server shows no authority'))
      else resolve(above)
    })
    socket.once('error', reject)
    socket.once('timeout', () => socket.destroy(new Error('no answer')))
  })
}

/** A request whose certificate is checked, by this computer's clock; its name is that behind the forwarded port. */
export function callOver(port: number, authority: X509Certificate): CallTo {
  return (method, path, { token, json, bytes, headers = {} } = {}) =>
    new Promise((resolve, reject) => {
      const body = bytes ?? (json === undefined ? undefined : Buffer.from(JSON.stringify(json)))
      const asked = request(
        {
          ...{ host: '127.0.0.1', port, method, path, ca: authority.toString(), agent: false, timeout: 300_000 },
          checkServerIdentity: () => undefined,
          headers: {
            ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
            ...(json === undefined ? {} : { 'Content-Type': 'application/json' }),
            ...(body === undefined ? {} : { 'Content-Length': body.length }),
            ...headers,
          },
        },
        answer => {
          const parts: Buffer[] = []
          answer
            .on('data', (part: Buffer) => parts.push(part))
            .on('error', reject)
            .on('end', () => {
              const got = Buffer.concat(parts)
              const isJson = answer.headers['content-type']?.includes('json') === true
              resolve({
                status: answer.statusCode ?? 0,
                bytes: got,
                body: isJson ? (JSON.parse(got.toString()) as Record<string, unknown>) : {},
                date: new Date(answer.headers.date ?? NaN),
              })
            })
        },
      )
      asked.on('error', reject).on('timeout', () => asked.destroy(new Error('no answer')))
      asked.end(body)
    })
}
