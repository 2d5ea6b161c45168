import { Type, type Static } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { readdir, readlink, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { ReleaseView } from '../../../server/machine/protocol.ts'
import { at, findText, removeFile, writeText, type Ports } from '../ports.ts'

/** What an update needs between two steps, and after a power cut. */
export const FOLDER = '/var/lib/gatehouse-update'
const STATE = `${FOLDER}/work.json`
/** There while an update is at work: gatehouse-update.service starts only then, also at boot. */
export const BEGUN = `${FOLDER}/begun`
export const RELEASES = '/opt/gatehouse/releases'
export const CURRENT = '/opt/gatehouse/current'

/** Those that are at work, in order. */
const STEPS = ['laying', 'keeping', 'switching', 'proving', 'going_back'] as const
/** The other states: before it begins, and its ends. */
const RESTS = ['waiting', 'done', 'went_back', 'failed'] as const
export type Step = (typeof STEPS)[number] | (typeof RESTS)[number]

const Work = Type.Object({
  version: Type.String(),
  /** The folders below RELEASES: the one that is brought, and the one that ran before. */
  release: Type.String(),
  previous: Type.String(),
  /** Where the update came from. */
  file: Type.String(),
  /** The bundle, below FOLDER; null where the release is laid already. */
  bundle: Type.Union([Type.Object({ path: Type.String(), sha256: Type.String() }), Type.Null()]),
  /** The newest migration before. */
  schema: Type.String(),
  step: Type.Union([...RESTS, ...STEPS].map(one => Type.Literal(one))),
  /** How often this step was begun. */
  tries: Type.Integer(),
  said: Type.String(),
  at: Type.String(),
  when: Type.Union([Type.Literal('now'), Type.Literal('window')]),
})
export type Work = Static<typeof Work>

/** The update that waits, is at work, or was the last one. */
export async function readWork(ports: Ports): Promise<Work | undefined> {
  const text = await findText(ports, STATE)
  if (text === undefined) return undefined
  const read: unknown = JSON.parse(text)
  return Value.Check(Work, read) ? read : undefined
}

/** Lasts through a power cut once it returns. */
export async function writeWork(ports: Ports, work: Omit<Work, 'at'>): Promise<Work> {
  const whole = { ...work, at: ports.now().toISOString() }
  await writeText(ports, STATE, `${JSON.stringify(whole)}\n`, 0o600)
  ports.log(`update ${work.version}: ${work.step}: ${work.said}`)
  return whole
}

/** The state that its step is in, as others see it. */
export const stateOf = ({ step }: Work): (typeof RESTS)[number] | 'running' =>
  RESTS.find(one => one === step) ?? 'running'
export const isAtWork = (work: Work): boolean => stateOf(work) === 'running'

/** Starts the unit that carries the work out; whatever asked may end meanwhile. */
export async function begin(ports: Ports): Promise<void> {
  await writeText(ports, BEGUN, '\n', 0o600)
  await ports.run('systemctl', ['--no-block', 'start', 'gatehouse-update.service'])
}

export const end = (ports: Ports): Promise<void> => removeFile(ports, BEGUN)

/** The folder of the release that the link leads to. */
export async function currentRelease(ports: Ports): Promise<string> {
  return basename(await readlink(at(ports, CURRENT)).catch(() => ''))
}

/** A line `NAME=value` of a release's own file. */
export async function factOf(ports: Ports, release: string, name: string): Promise<string | undefined> {
  const text = (await findText(ports, `${RELEASES}/${release}/release`)) ?? ''
  return new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1]
}

/** The releases that are laid, the newest first. */
export async function listReleases(ports: Ports): Promise<ReleaseView[]> {
  const names = await readdir(at(ports, RELEASES)).catch(() => [])
  const current = await currentRelease(ports)
  const views = await Promise.all(
    names
      .filter(name => !name.endsWith('.part'))
      .map(async name => ({
        name,
        version: (await factOf(ports, name, 'APP_VERSION')) ?? name,
        installed_at: (await stat(at(ports, `${RELEASES}/${name}`))).mtime.toISOString(),
        is_current: name === current,
      })),
  )
  return views.sort((a, b) => b.installed_at.localeCompare(a.installed_at))
}
