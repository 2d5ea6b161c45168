import type { AddressInfo } from 'node:net'
import { SMTPServer } from 'smtp-server'
import type { TestTls } from './tls.ts'

/** One mail as a server took it. */
export interface TakenMail {
  readonly from: string
  readonly to: readonly string[]
  readonly secure: boolean
  readonly user: string | undefined
  readonly raw: string
}

export interface SmtpOptions {
  /** `plain` offers no TLS, `starttls` offers it, `tls` speaks it from the start. */
  readonly mode: 'plain' | 'starttls' | 'tls'
  readonly tls?: TestTls
  /** Asks for this login. */
  readonly login?: { readonly user: string; readonly password: string }
  /** Receivers that are refused. */
  readonly refuse?: (address: string) => boolean
  /** The reply to a refused mail. */
  readonly answer?: () => Error | undefined
  /** A port to listen on; a free one unless said. */
  readonly port?: number
}

/** A real mail server on 127.0.0.1 that keeps what it takes. */
export interface TestSmtp {
  readonly port: number
  readonly mails: TakenMail[]
  /** The mails' texts, decoded, newest last. */
  texts(): string[]
  /** Resolves with the first mail that fits, also one that comes later. */
  next(fits?: (mail: TakenMail) => boolean): Promise<TakenMail>
  close(): Promise<void>
}

/** The text of a mail, quoted-printable or base64 undone. */
export function textOf({ raw }: TakenMail): string {
  const cut = raw.indexOf('\r\n\r\n')
  const [head, body] = [raw.slice(0, cut), raw.slice(cut + 4)]
  const encoding = /^content-transfer-encoding: *(\S+)/im.exec(head)?.[1]?.toLowerCase()
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8')
  if (encoding !== 'quoted-printable') return body.replaceAll('\r\n', '\n')
  const bytes = body
    .replace(/=\r\n/g, '')
    .replace(/=([\dA-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8').replaceAll('\r\n', '\n')
}

export async function startSmtp({
  mode,
  tls,
  login,
  refuse = () => false,
  answer = () => undefined,
  port = 0,
}: SmtpOptions): Promise<TestSmtp> {
  const mails: TakenMail[] = []
  const waiting = new Set<() => void>()
  const server = new SMTPServer({
    secure: mode === 'tls',
    authOptional: login === undefined,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    closeTimeout: 100,
    ...(tls === undefined ? {} : { key: tls.key, cert: tls.cert }),
    disabledCommands: [...(mode === 'plain' ? ['STARTTLS'] : []), ...(login === undefined ? ['AUTH'] : [])],
    onAuth: ({ username, password }, _, done) => {
      if (username === login?.user && password === login.password) done(null, { user: username })
      else done(new Error(`Invalid login for ${username} with ${password}`)) // as a careless server would say it
    },
    onRcptTo: ({ address }, _, done) => {
      if (refuse(address)) done(new Error(`<${address}>: unknown here`))
      else done()
    },
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const problem = answer()
        if (problem !== undefined) return done(problem)
        const { mailFrom, rcptTo } = session.envelope
        mails.push({
          from: mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          secure: session.secure,
          user: typeof session.user === 'string' ? session.user : undefined,
          raw: Buffer.concat(chunks).toString('utf8'),
        })
        for (const look of waiting) look()
        done(null, 'queued as 4711')
      })
    },
  })
  server.on('error', () => undefined) // a client that breaks off a handshake is part of the tests
  await new Promise<void>(resolve => {
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    texts: () => mails.map(textOf),
    next: (fits = () => true) =>
      new Promise(resolve => {
        const look = (): void => {
          const found = mails.find(fits)
          if (found === undefined) return
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      }),
    close: () =>
      new Promise(resolve => {
        server.close(resolve)
      }),
  }
}
