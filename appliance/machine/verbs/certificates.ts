import { mkdir, rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AskedWith, CertificateView } from '../../../server/machine/protocol.ts'
import { certificatesIn, checkPair, issuerOf, namesOf, sharedNames } from '../pem.ts'
import { at, findText, must, Refused, writeText, type Ports } from '../ports.ts'

/**
 * What nginx serves is `server.crt` and `server.key`. `kind` says whose it is; that of a company and of an ACME
 * authority lies in a folder of its own, from which `/usr/lib/gatehouse/certificate` lays it, also after a power cut.
 */
export const TLS = '/etc/gatehouse/tls'
/** What is asked of an ACME authority, and what came of it. */
export const ORDER = '/etc/gatehouse/acme'
const PROGRAM = '/usr/lib/gatehouse/certificate'
const DAY_MS = 86_400_000
const LATE_DAYS = 14

export type Kind = CertificateView['kind']

export async function kindOf(ports: Ports): Promise<Kind> {
  const kind = (await findText(ports, `${TLS}/kind`))?.trim()
  return kind === 'company' || kind === 'acme' ? kind : 'own'
}

/** Every name and address that this machine is reached by, its host name first. */
export async function machineNames(ports: Ports): Promise<string[]> {
  const host = ((await findText(ports, '/etc/hostname')) ?? '').trim()
  const more = ((await findText(ports, '/etc/gatehouse/names')) ?? '').split('\n').map(line => line.trim())
  const { out } = await ports.run('ip', ['-o', 'address', 'show', 'scope', 'global'])
  const addresses = [...out.matchAll(/\binet6? ([0-9a-f.:]+)\//g)].flatMap(([, address]) => address ?? [])
  return [host, `${host}.local`, ...more.filter(line => line !== '' && !line.startsWith('#')), ...addresses]
}

const RENEWAL: Readonly<Record<Kind, string>> = {
  own: 'This machine renews it by itself.',
  company: 'Put the next one in before it ends.',
  acme: 'It is renewed by itself when a third of its time is left.',
}

/** What is served, as far as it can be read. */
export async function readCertificate(ports: Ports): Promise<CertificateView> {
  const kind = await kindOf(ports)
  const nothing = { kind, names: [], issuer: '', ends_at: '', fingerprint: '' }
  let chain
  try {
    chain = certificatesIn((await findText(ports, `${TLS}/server.crt`)) ?? '')
  } catch {
    return { ...nothing, mark: 'unknown', said: `${TLS}/server.crt cannot be read.` }
  }
  const [leaf] = chain
  const top = chain.at(-1)
  if (leaf === undefined || top === undefined)
    return {
      ...nothing,
      mark: 'unknown',
      said: 'There is no certificate yet. systemctl restart gatehouse-first-boot makes one.',
    }
  const [begins, ends] = [new Date(leaf.validFrom), new Date(leaf.validTo)]
  const days = Math.floor((ends.getTime() - ports.now().getTime()) / DAY_MS)
  const view = {
    kind,
    names: namesOf(leaf),
    issuer: issuerOf(leaf),
    ends_at: ends.toISOString(),
    fingerprint: top.fingerprint256.replaceAll(':', ''),
  }
  const machine = await machineNames(ports)
  if (ends <= ports.now())
    return {
      ...view,
      mark: 'bad',
      said: `It ended on ${ends.toISOString().slice(0, 10)}: clients refuse it. Put another one in, or go back to this machine's own.`,
    }
  if (begins > ports.now())
    return {
      ...view,
      mark: 'bad',
      said: `It begins on ${begins.toISOString().slice(0, 10)}, later than the clock of this machine. Set the clock.`,
    }
  if (sharedNames(leaf, machine).length === 0)
    return {
      ...view,
      mark: 'bad',
      said: `It is for ${view.names.join(', ') || 'no name'}, and none of these is this machine. Name the machine so, or put another one in.`,
    }
  const failed = kind === 'acme' ? (await findText(ports, `${ORDER}/failed`))?.trim() : undefined
  if (failed !== undefined)
    return { ...view, mark: 'warning', said: `The last renewal failed: ${failed} It lasts for ${days} days more.` }
  // an authority of a company may give them for a day
  const isLate = kind === 'company' && days < LATE_DAYS
  return { ...view, mark: isLate ? 'warning' : 'good', said: `It lasts for ${days} days more. ${RENEWAL[kind]}` }
}

/** The certificate that the web server shows, of whoever asks this machine itself. */
async function shownFingerprint(ports: Ports): Promise<string | undefined> {
  const { out } = await ports.run('openssl', ['s_client', '-connect', '127.0.0.1:443'], { input: '', timeoutMs: 5_000 })
  return certificatesIn(out)[0]?.fingerprint256
}

/**
 * Lays what `kind` says, and has the web server show it: for half a second, or longer on a busy machine, workers that
 * end may still show the one of before. @throws Refused when it does not
 */
export async function serve(ports: Ports, { patienceMs = 10_000 } = {}): Promise<void> {
  await must(ports, PROGRAM, [])
  const [wanted] = certificatesIn((await findText(ports, `${TLS}/server.crt`)) ?? '')
  // it looks at its whole configuration first, and goes on with the old one when that does not hold
  await must(ports, 'systemctl', ['reload-or-restart', 'gatehouse-web.service'], { timeoutMs: 60_000 })
  const end = Date.now() + patienceMs
  while ((await shownFingerprint(ports)) !== wanted?.fingerprint256) {
    if (Date.now() > end) throw new Refused('not_shown', 'The web server does not show the new certificate.')
    await sleep(250)
  }
  await ports.run('systemctl', ['--no-block', 'try-restart', 'gatehouse-status.service'])
}

/** Everything of a kind that a failed change puts back. */
async function keepState(ports: Ports): Promise<() => Promise<void>> {
  const pairs = ['company', 'acme'].flatMap(kind => [`${kind}/server.crt`, `${kind}/server.key`])
  const order = ['directory', 'names', 'email', 'authority.pem', 'failed'].map(name => `${ORDER}/${name}`)
  const paths = [...['kind', ...pairs].map(name => `${TLS}/${name}`), ...order]
  const before = await Promise.all(paths.map(async path => [path, await findText(ports, path)] as const))
  return async () => {
    for (const [path, text] of before)
      if (text === undefined) await rm(at(ports, path), { force: true })
      else await writeText(ports, path, text, 0o600)
    await serve(ports).catch((error: unknown) => ports.log(`certificate: going back failed: ${String(error)}`))
  }
}

/** Serves what `change` laid; what was served before comes back when that does not work. */
export async function changeOrGoBack(ports: Ports, change: () => Promise<void>): Promise<CertificateView> {
  const goBack = await keepState(ports)
  try {
    await change()
    await serve(ports)
  } catch (error) {
    await goBack()
    if (!(error instanceof Refused)) throw error
    throw new Refused(error.code, `${error.message} The certificate of before is served on.`)
  }
  return readCertificate(ports)
}

export async function putCertificate(ports: Ports, asked: AskedWith<'certificate.put'>): Promise<CertificateView> {
  const pair = checkPair(asked, { now: ports.now(), machine: await machineNames(ports) })
  return changeOrGoBack(ports, async () => {
    await writeText(ports, `${TLS}/company/server.crt`, pair.certificate, 0o600)
    await writeText(ports, `${TLS}/company/server.key`, pair.key, 0o600)
    // last: a power cut before it leaves everything as it was
    await writeText(ports, `${TLS}/kind`, 'company\n')
  })
}

/** Back to the certificate of this machine's own authority, which consoles may know from before. */
export async function ownCertificate(ports: Ports): Promise<CertificateView> {
  const view = await changeOrGoBack(ports, () => rm(at(ports, `${TLS}/kind`), { force: true }))
  await ports.run('systemctl', ['reset-failed', 'gatehouse-acme@renew.service'])
  for (const folder of [`${TLS}/company`, `${TLS}/acme`, ORDER])
    await rm(at(ports, folder), { recursive: true, force: true })
  // a unit is given this folder to write in
  await mkdir(at(ports, ORDER), { recursive: true, mode: 0o700 })
  return view
}
