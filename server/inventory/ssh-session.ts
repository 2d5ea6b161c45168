import { createHash } from 'node:crypto'
import type { ConnectConfig, ExecStream, SshError } from 'ssh2'

/** Why a machine could not be asked, by the codes of `core/errors.ts`. The message has no full stop. */
export class SshFailure extends Error {
  readonly code:
    | 'inventory_unreachable'
    | 'inventory_login_refused'
    | 'inventory_timeout'
    | 'inventory_scan_failed'
    | 'inventory_host_key_changed'
  constructor(code: SshFailure['code'], why: string) {
    super(why)
    this.name = 'SshFailure'
    this.code = code
  }
}

/** A host key: its type, and its fingerprint as `ssh-keygen -lf` prints it. */
export interface HostKey {
  readonly type: string
  readonly fingerprint: string
}

/** Reads the type that a raw key begins with, behind its length (RFC 4253, 6.6). */
export function readHostKey(raw: Buffer): HostKey {
  const length = raw.length < 4 ? 0 : raw.readUInt32BE(0)
  const type = raw.subarray(4, 4 + Math.min(length, 64)).toString('latin1')
  const digest = createHash('sha256').update(raw).digest('base64').replace(/=+$/, '')
  return { type, fingerprint: `SHA256:${digest}` }
}

/** Of each type of key the signatures that it makes, in the order in which they are asked for. */
const SIGNATURES: Readonly<Record<string, readonly string[]>> = {
  'ssh-ed25519': ['ssh-ed25519'],
  'ecdsa-sha2-nistp256': ['ecdsa-sha2-nistp256'],
  'ecdsa-sha2-nistp384': ['ecdsa-sha2-nistp384'],
  'ecdsa-sha2-nistp521': ['ecdsa-sha2-nistp521'],
  'ssh-rsa': ['rsa-sha2-512', 'rsa-sha2-256'],
}

/** A host has keys of several types: the type that is trusted is asked for first. */
function algorithmsFor(type: string | undefined): readonly string[] {
  const first = (type === undefined ? undefined : SIGNATURES[type]) ?? []
  return [
    ...first,
    ...Object.values(SIGNATURES)
      .flat()
      .filter(one => !first.includes(one)),
  ]
}

export interface SshQuestion {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly login: { readonly privateKey: string } | { readonly password: string }
  /** The key that is trusted; undefined at first sight. */
  readonly trusted: HostKey | undefined
  /** Goes to the shell's standard input. */
  readonly script: string
  readonly connectMs: number
  readonly commandMs: number
  readonly limitBytes: number
  readonly signal: AbortSignal
}

function failureOf(error: SshError): SshFailure {
  if (error.level === 'client-authentication') return new SshFailure('inventory_login_refused', 'it refused the login')
  if (error.level === 'client-timeout') return new SshFailure('inventory_timeout', 'the login did not end in time')
  if (error.level === 'client-socket' || error.code !== undefined)
    return new SshFailure('inventory_unreachable', error.code ?? error.message)
  return new SshFailure('inventory_scan_failed', error.message.slice(0, 200))
}

/** The config of one connection; `seen` is called with the host's key before anything is sent. */
function configOf(question: SshQuestion, seen: (key: HostKey) => boolean): ConnectConfig {
  const { host, port, user, login, trusted, connectMs } = question
  return {
    host,
    port,
    username: user,
    ...login,
    readyTimeout: connectMs,
    algorithms: { serverHostKey: algorithmsFor(trusted?.type) },
    hostVerifier: raw => seen(readHostKey(raw)),
  }
}

/** Collects what the script prints, up to the limit. */
function listen(stream: ExecStream, { limitBytes }: SshQuestion, done: (outcome: Buffer | SshFailure) => void): void {
  const chunks: Buffer[] = []
  let size = 0
  let said = ''
  stream.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > limitBytes)
      done(new SshFailure('inventory_scan_failed', `it answered more than ${limitBytes / 1024 / 1024} MB`))
    else chunks.push(chunk)
  })
  stream.stderr.on('data', (chunk: Buffer) => {
    if (said.length < 200) said += chunk.toString('utf8')
  })
  stream.on('close', () => {
    if (size > 0) return done(Buffer.concat(chunks))
    const why = said
      .replace(/\p{Cc}+/gu, ' ')
      .trim()
      .slice(0, 200)
    done(new SshFailure('inventory_scan_failed', why === '' ? 'it ran no shell' : `it said ${why}`))
  })
}

/**
 * Runs a script on a machine and gives what it printed, with the key that the host showed. Ends the connection whatever
 * happens; a machine that hangs is left after its deadline. @throws SshFailure, or the reason of the signal
 */
export async function askOverSsh(
  question: SshQuestion,
): Promise<{ readonly output: Buffer; readonly hostKey: HostKey }> {
  const { trusted, script, commandMs, signal } = question
  // most installations ask nobody
  const { default: ssh2 } = await import('ssh2')
  return new Promise((resolve, reject) => {
    const client = new ssh2.Client()
    let hostKey: HostKey | undefined
    let timer: NodeJS.Timeout | undefined
    let isSettled = false
    const settle = (outcome: Buffer | Error): void => {
      if (isSettled) return
      isSettled = true
      clearTimeout(timer)
      signal.removeEventListener('abort', aborted)
      client.destroy()
      if (outcome instanceof Error || hostKey === undefined) reject(outcome as Error)
      else resolve({ output: outcome, hostKey })
    }
    const aborted = (): void => settle(signal.reason as Error)
    if (signal.aborted) return reject(signal.reason as Error)
    signal.addEventListener('abort', aborted)
    // also after the end: a socket may still report that it broke
    client.on('error', (error: SshError) => settle(failureOf(error)))
    client.on('close', () => settle(new SshFailure('inventory_unreachable', 'it closed the connection')))
    client.on('ready', () => {
      timer = setTimeout(
        () => settle(new SshFailure('inventory_timeout', 'its list of packages did not end in time')),
        commandMs,
      )
      client.exec('sh -s', (error, stream) => {
        if (error !== undefined) return settle(new SshFailure('inventory_scan_failed', error.message.slice(0, 200)))
        listen(stream, question, settle)
        stream.on('error', () => undefined) // a shell that ends early closes its input
        stream.end(script)
      })
    })
    try {
      client.connect(
        configOf(question, key => {
          hostKey = key
          if (trusted === undefined || key.fingerprint === trusted.fingerprint) return true
          settle(new HostKeyChanged(key))
          return false
        }),
      )
    } catch (error) {
      settle(new SshFailure('inventory_scan_failed', (error as Error).message.slice(0, 200)))
    }
  })
}

/** The host showed another key than the trusted one; nothing was sent to it. */
export class HostKeyChanged extends SshFailure {
  readonly offered: HostKey
  constructor(offered: HostKey) {
    super('inventory_host_key_changed', `it shows ${offered.fingerprint}`)
    this.offered = offered
  }
}
