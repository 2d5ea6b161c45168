import { readFile } from 'node:fs/promises'
import type SMTPTransport from 'nodemailer/lib/smtp-transport/index.js'
import { fail, isRefusal } from '../core/errors.ts'
import { systemErrorInWords } from '../lib/system-errors.ts'
import type { Settings } from '../settings/store.ts'

export interface Mail {
  /** One address or several. */
  readonly to: string | readonly string[]
  readonly subject: string
  /** Plain text; lines end with \n. */
  readonly text: string
}

/** Sends mail over the server of the settings section `email`, read at every call. */
export interface Mailer {
  /**
   * Resolves when the server has accepted it for every recipient. @throws mail_not_configured, mail_failed with the
   * server's own words
   */
  send(mail: Mail): Promise<void>
  /** Sends a test mail to `email.to_addresses`, or to `to`, also while mail is switched off. @throws as `send` */
  test(to?: string): Promise<{ readonly to: readonly string[]; readonly server: string; readonly answer: string }>
  /** Whether mail is switched on and has a server and a sender. */
  isReady(): boolean
  /** The addresses of `email.to_addresses`. */
  receivers(): readonly string[]
}

export interface MailerDeps {
  readonly settings: Pick<Settings, 'now'>
  /** Time for each step of the conversation; 10 s by default. */
  readonly timeoutMs?: number
}

type EmailSettings = ReturnType<Settings['now']>['email']

const IMPLICIT_TLS_PORT = 465
const listOf = (text: string): string[] =>
  text
    .split(/[,;]/)
    .map(part => part.trim())
    .filter(part => part !== '')

/**
 * `Gatehouse <repo@example.org>` or a bare address. nodemailer would read a text as a list of addresses; it reads an
 * object as one.
 */
export function parseAddress(text: string): { readonly name: string; readonly address: string } | undefined {
  const [, name = '', boxed] = /^([^<>]*)<([^<>\s]+)>$/.exec(text.trim()) ?? []
  const address = boxed ?? text.trim()
  return /^[^\s@<>,;"]+@[^\s@<>,;"]+$/.test(address) ? { name: name.trim().replace(/^"|"$/g, ''), address } : undefined
}

function addressOf(text: string, field: string): { readonly name: string; readonly address: string } {
  return parseAddress(text) ?? fail('mail_not_configured', { why: `${field} is no mail address`, key: field })
}

/** The settings still missing before anything can be sent. */
function problemOf({ smtp_host: host, from_address: from }: EmailSettings): string | undefined {
  if (host === '') return 'email.smtp_host is empty'
  return parseAddress(from) === undefined ? 'email.from_address is no mail address' : undefined
}

async function transportOptions(email: EmailSettings, timeoutMs: number): Promise<SMTPTransport.Options> {
  const implicit = email.smtp_port === IMPLICIT_TLS_PORT
  const isSecured = implicit || email.use_tls
  const ca =
    email.ca_bundle_path === ''
      ? undefined
      : await readFile(email.ca_bundle_path).catch((cause: unknown) =>
          fail(
            'mail_not_configured',
            {
              why: `email.ca_bundle_path cannot be read: ${systemErrorInWords(cause) ?? 'it failed'}`,
              key: 'email.ca_bundle_path',
            },
            cause,
          ),
        )
  return {
    host: email.smtp_host,
    port: email.smtp_port,
    secure: implicit,
    requireTLS: isSecured && !implicit,
    // without use_tls the admin accepts plain text: use TLS where it is offered, even with a certificate that nobody
    // vouches for
    tls: { rejectUnauthorized: isSecured, minVersion: 'TLSv1.2', ...(ca === undefined ? {} : { ca }) },
    ...(email.smtp_user === '' ? {} : { auth: { user: email.smtp_user, pass: email.smtp_password } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

/** The failure in words, without the password in any form in which a server may repeat it. */
export function failureOf(
  error: unknown,
  { smtp_user: user, smtp_password: password }: Pick<EmailSettings, 'smtp_user' | 'smtp_password'>,
): string {
  const { message, code } = error as NodeJS.ErrnoException
  // OpenSSL's message names its own source files; the reason is its fourth field
  const tls = /error:[\dA-F]+:SSL routines:[^:]*:([^:]+):/.exec(message)?.[1]
  const said =
    code === 'ETIMEDOUT'
      ? `it did not answer in time (${message})`
      : tls === undefined
        ? (systemErrorInWords(error) ?? message)
        : `no TLS came about (${tls}). Port 465 speaks TLS from the start, 587 and 25 after STARTTLS`
  const secrets =
    password === ''
      ? []
      : [password, Buffer.from(password).toString('base64'), Buffer.from(`\0${user}\0${password}`).toString('base64')]
  const clean = secrets.reduce((text, secret) => text.replaceAll(secret, '***'), said)
  return clean.replace(/\s+/g, ' ').slice(0, 300).replace(/\.$/, '')
}

/** Sends mail over the server that the settings name. */
export function createMailer({ settings, timeoutMs = 10_000 }: MailerDeps): Mailer {
  async function deliver({ to, subject, text }: Mail): Promise<SMTPTransport.SentMessageInfo> {
    const { email } = settings.now()
    const problem = problemOf(email)
    if (problem !== undefined) fail('mail_not_configured', { why: problem })
    const receivers = (typeof to === 'string' ? [to] : to).map(address => addressOf(address, 'the receiver'))
    if (receivers.length === 0) fail('mail_not_configured', { why: 'email.to_addresses is empty' })
    const { createTransport } = await import('nodemailer') // with the first mail: many sites send none
    const transport = createTransport(await transportOptions(email, timeoutMs))
    const server = `${email.smtp_host}:${email.smtp_port}`
    try {
      const info = await transport.sendMail({
        from: addressOf(email.from_address, 'email.from_address'),
        to: receivers,
        subject: subject.replace(/[\r\n]+/g, ' '),
        text,
      })
      if (info.rejected.length > 0) fail('mail_failed', { server, why: `it refused ${info.rejected.join(', ')}` })
      return info
    } catch (error) {
      if (isRefusal(error)) throw error
      // the library's error carries the login it used, so it is not passed on as a cause
      return fail('mail_failed', { server, why: failureOf(error, email) })
    } finally {
      transport.close()
    }
  }

  return {
    send: async mail => {
      if (!settings.now().email.enabled) fail('mail_not_configured', { why: 'email.enabled is off' })
      await deliver(mail)
    },
    test: async given => {
      const { email } = settings.now()
      const to = given === undefined ? listOf(email.to_addresses) : [given]
      const { response } = await deliver({
        to,
        subject: 'Gatehouse: test mail',
        text: 'This is the test mail of Gatehouse.\n\nMail works: deadlines of reviews and password resets will arrive here.\n',
      })
      return { to, server: `${email.smtp_host}:${email.smtp_port}`, answer: response.slice(0, 300) }
    },
    isReady: () => settings.now().email.enabled && problemOf(settings.now().email) === undefined,
    receivers: () => listOf(settings.now().email.to_addresses),
  }
}
