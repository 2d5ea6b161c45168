import { readdir, stat } from 'node:fs/promises'
import type { UpdateState } from '../../../server/machine/protocol.ts'
import { at, findText, removeFile, writeText, type Ports } from '../ports.ts'
import { FOLDER } from './work.ts'

/** When the lists of Debian's archive were fetched last: apt's daily look leaves it, and so does the window's. */
const STAMP = '/var/lib/apt/periodic/update-stamp'
/** What went wrong in the last window. */
const FAILED = `${FOLDER}/debian-failed.json`
const INSTALLED = '/var/lib/dpkg/status'
const LONG_MS = 2 * 60 * 60_000
type Debian = UpdateState['debian']
interface Failed {
  readonly at: string
  /** Whether the lists were fetched before. */
  readonly was_reached: boolean
  readonly said: string
}

/** The time in ms at which a file was written; undefined where there is none. */
const writtenAt = async (ports: Ports, path: string): Promise<number | undefined> =>
  (await stat(at(ports, path)).catch(() => undefined))?.mtimeMs

const counted = new WeakMap<Ports, { readonly of: string; readonly waiting: Promise<number | undefined> }>()

/** How many security updates wait, as apt says from the lists of its last look; undefined: it does not say. */
async function countWaiting(ports: Ports): Promise<number | undefined> {
  // a kernel comes as a new package, which a plain upgrade leaves out
  const words = ['--simulate', '--quiet', '--with-new-pkgs', 'upgrade']
  const { code, out } = await ports.run('apt-get', words, { timeoutMs: 60_000 })
  return code === 0 ? out.split('\n').filter(line => /^Inst \S+ \[.*Debian-Security/.test(line)).length : undefined
}

/** The same, counted again only when lists or packages changed. */
async function waitingNow(ports: Ports, looked: number): Promise<number | undefined> {
  const of = `${looked} ${await writtenAt(ports, INSTALLED)}`
  const last = counted.get(ports)
  if (last?.of === of) return last.waiting
  const waiting = countWaiting(ports)
  counted.set(ports, { of, waiting })
  if ((await waiting) === undefined) counted.delete(ports)
  return waiting
}

/** Security updates of Debian: when its archive was looked at last, and what waits since then. */
export async function readDebian(ports: Ports): Promise<Debian> {
  const [stamp, text] = await Promise.all([writtenAt(ports, STAMP), findText(ports, FAILED)])
  const failed = text === undefined ? undefined : (JSON.parse(text) as Failed)
  const looked_at = stamp === undefined ? null : new Date(stamp).toISOString()
  // lists that were fetched since then say more
  if (failed?.was_reached === false && (stamp === undefined || stamp < Date.parse(failed.at)))
    return { waiting: null, looked_at, said: failed.said }
  if (stamp === undefined) return { waiting: null, looked_at, said: 'Nobody has looked for them yet.' }
  const waiting = await waitingNow(ports, stamp)
  if (waiting === undefined) return { waiting: null, looked_at, said: 'apt does not say what waits.' }
  if (waiting === 0) return { waiting, looked_at, said: 'No security update waits.' }
  const said = waiting === 1 ? '1 security update waits.' : `${waiting} security updates wait.`
  return { waiting, looked_at, said: failed?.was_reached === true ? `${said} ${failed.said}` : said }
}

/** Looks for security updates, and brings them where that is wanted. Other updates of Debian are left alone. */
export async function updateDebian(ports: Ports, isWanted: boolean): Promise<Debian> {
  const told = async (failed?: Omit<Failed, 'at'>): Promise<Debian> => {
    if (failed === undefined) await removeFile(ports, FAILED)
    else await writeText(ports, FAILED, `${JSON.stringify({ at: ports.now().toISOString(), ...failed })}\n`)
    const debian = await readDebian(ports)
    ports.log(`Debian: ${debian.said}`)
    return debian
  }
  // the clock of files stands still for some milliseconds, so what changes here is not left to it
  counted.delete(ports)
  const lists = await ports.run('apt-get', ['-q', 'update', '-o', 'APT::Update::Error-Mode=any'], {
    timeoutMs: LONG_MS,
  })
  if (lists.code !== 0)
    return told({
      was_reached: false,
      said: 'The archive of Debian was not reached, so nobody knows what waits. Without internet, name a mirror in /etc/apt/sources.list.d.',
    })
  await writeText(ports, STAMP, '')
  if (!isWanted) return told()
  const { code, out, err } = await ports.run('unattended-upgrade', ['-v'], { timeoutMs: LONG_MS })
  if (code === 0) return told()
  return told({ was_reached: true, said: `They were not installed: ${(err || out).trim().slice(-200)}` })
}

/** Of versions as Debian numbers its kernels: `6.1.0-38-amd64`. */
const byVersion = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true })

/** Whether Debian asks for a restart, or a newer kernel than the one that runs is there. */
export async function readRestart(ports: Ports): Promise<Pick<UpdateState, 'reboot_required' | 'reboot_for'>> {
  const asked = await findText(ports, '/run/reboot-required')
  const packages = ((await findText(ports, '/run/reboot-required.pkgs')) ?? '').split('\n').filter(Boolean)
  const kernels = (await readdir(at(ports, '/boot')).catch(() => []))
    .flatMap(name => (name.startsWith('vmlinuz-') ? [name.slice('vmlinuz-'.length)] : []))
    .sort(byVersion)
  const newest = kernels.at(-1)
  const runs = (await ports.run('uname', ['-r'])).out.trim()
  const isOld = newest !== undefined && kernels.includes(runs) && byVersion(runs, newest) < 0
  return {
    reboot_required: asked !== undefined || isOld,
    reboot_for: [...new Set([...packages, ...(isOld ? [`kernel ${newest}`] : [])])],
  }
}
