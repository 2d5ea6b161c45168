import { mkdir, rm, statfs } from 'node:fs/promises'
import semver from 'semver'
import type { AskedWith, UpdateState, UpdateView } from '../../../server/machine/protocol.ts'
import { at, findText, Refused, type Ports } from '../ports.ts'
import { schemaOf, sizeOf } from '../update/database.ts'
import { readDebian, readRestart } from '../update/debian.ts'
import { fetchReady, OWN_READY } from '../update/gate.ts'
import { nameOfKey, readUpdate, releaseOf, SIGNED, type UpdateManifest } from '../update/manifest.ts'
import {
  begin,
  currentRelease,
  factOf,
  FOLDER,
  isAtWork,
  listReleases,
  readWork,
  stateOf,
  RELEASES,
  writeWork,
  type Work,
} from '../update/work.ts'

type Check = UpdateView['checks'][number]
/** A bundle unpacked, to its size. */
const UNPACKED = 6

/** The vendor's public key, which came with the release that runs. @throws Refused where it has none */
async function keyOf(ports: Ports): Promise<string> {
  const key = await findText(ports, `${RELEASES}/${await currentRelease(ports)}/release-key.pub`)
  if (key !== undefined) return key
  throw new Refused(
    'no_key',
    'This appliance was built without the key of a vendor, so it can tell no update from a forged one and takes none. Bring a release with provision.sh, see docs/appliance.md.',
  )
}

async function roomFor(ports: Ports, manifest: UpdateManifest): Promise<Check> {
  const what = 'Room'
  try {
    const { bavail, bsize } = await statfs(at(ports, RELEASES))
    const free = bavail * bsize
    const needed = manifest.bundle.size * (1 + UNPACKED) + (await sizeOf(ports))
    const [has, needs] = [free, needed].map(bytes => `${Math.ceil(bytes / 1e6)} MB`)
    return needed <= free
      ? { what, mark: 'good', said: `${has} are free, and the update takes up to ${needs}.` }
      : {
          what,
          mark: 'bad',
          said: `The update takes up to ${needs}, and ${has} are free. Make room, or make the disk larger.`,
        }
  } catch (error) {
    return { what, mark: 'unknown', said: `How much room is free cannot be told: ${(error as Error).message}` }
  }
}

async function healthOf(ports: Ports): Promise<Check> {
  return (await fetchReady(ports, OWN_READY)).ok
    ? { what: 'Health', mark: 'good', said: 'The release that runs is well.' }
    : {
        what: 'Health',
        mark: 'bad',
        said: 'The release that runs is not well, so nobody could tell whether the new one is to blame. Mend it first: see Health.',
      }
}

async function databaseOf(
  ports: Ports,
  manifest: UpdateManifest,
): Promise<{ readonly check: Check; readonly schema: string | undefined }> {
  const what = 'Database'
  const schema = await schemaOf(ports).catch(() => undefined)
  if (schema === undefined)
    return {
      schema,
      check: {
        what,
        mark: 'bad',
        said: 'The database does not answer, so it could not be put back. See journalctl -u gatehouse-postgres.',
      },
    }
  if (schema > manifest.schema)
    return {
      schema,
      check: {
        what,
        mark: 'bad',
        said: `The database is of a later release (${schema}), which ${manifest.version} cannot read. To go back that far, restore a backup of that time.`,
      },
    }
  const said =
    schema === manifest.schema
      ? 'The database stays as it is.'
      : 'The database is changed. It is copied before, and put back if the release is no good.'
  return { schema, check: { what, mark: 'good', said } }
}

/** Whether the release that runs is one that takes it. */
async function versionOf(
  ports: Ports,
  manifest: UpdateManifest,
): Promise<{ readonly checks: readonly Check[]; readonly isOlder: boolean }> {
  const runs = (await factOf(ports, await currentRelease(ports), 'APP_VERSION')) ?? '0.0.0'
  const isOlder = semver.lt(manifest.version, runs)
  const checks: Check[] = []
  if (semver.lt(runs, manifest.updates_from))
    checks.push({
      what: 'Version',
      mark: 'bad',
      said: `The update is for ${manifest.updates_from} and later, and ${runs} runs. Bring an update between them first.`,
    })
  const own = process.arch
  if (manifest.processor !== own)
    checks.push({
      what: 'Processor',
      mark: 'bad',
      said: `The update is for ${manifest.processor}, and this machine is ${own}. Take the one for ${own}.`,
    })
  if (isOlder)
    checks.push({
      what: 'Age',
      mark: 'warning',
      said: `The update is older than ${runs}, which runs. It is only taken when that is said.`,
    })
  return { checks, isOlder }
}

async function viewOf(ports: Ports, file: string, key: string, manifest: UpdateManifest): Promise<UpdateView> {
  const [version, database, room, health] = await Promise.all([
    versionOf(ports, manifest),
    databaseOf(ports, manifest),
    roomFor(ports, manifest),
    healthOf(ports),
  ])
  return {
    file,
    version: manifest.version,
    made_at: manifest.made_at,
    size: manifest.bundle.size,
    signed_by: nameOfKey(key),
    changes: manifest.changes,
    is_older: version.isOlder,
    migrates: database.schema !== manifest.schema,
    checks: [...version.checks, health, database.check, room],
  }
}

/** Reads the whole update and says what would happen. Nothing is changed. */
export async function lookAtUpdate(ports: Ports, { file }: AskedWith<'update.look'>): Promise<UpdateView> {
  const key = await keyOf(ports)
  return viewOf(ports, file, key, await readUpdate(at(ports, file), key))
}

async function refuseWhileAtWork(ports: Ports): Promise<void> {
  const work = await readWork(ports)
  if (work !== undefined && isAtWork(work))
    throw new Refused('busy', `The update to ${work.version} is at work: ${work.said} Wait for its end.`)
}

/** Takes the update in, verified, and begins now or leaves it to the window. @throws Refused when a check is bad */
export async function installUpdate(
  ports: Ports,
  { file, when, older = false }: AskedWith<'update.install'>,
  say: (step: string) => void,
): Promise<UpdateState> {
  await refuseWhileAtWork(ports)
  const key = await keyOf(ports)
  say('The update is verified and copied.')
  await mkdir(at(ports, FOLDER), { recursive: true, mode: 0o711 })
  const path = `${FOLDER}/taken.tar.zst`
  const manifest = await readUpdate(at(ports, file), key, at(ports, path))
  try {
    say('The machine is looked at.')
    const work = await workOf(ports, await viewOf(ports, file, key, manifest), manifest, { path, when, older })
    await writeWork(ports, work)
  } catch (error) {
    for (const taken of [path, `${path}${SIGNED}`]) await rm(at(ports, taken), { force: true })
    throw error
  }
  if (when === 'now') await begin(ports)
  return readUpdates(ports)
}

/** What is to be done. @throws Refused when a check is bad */
async function workOf(
  ports: Ports,
  view: UpdateView,
  manifest: UpdateManifest,
  { path, when, older }: { readonly path: string; readonly when: 'now' | 'window'; readonly older: boolean },
): Promise<Omit<Work, 'at'>> {
  const [bad] = view.checks.filter(({ mark }) => mark === 'bad' || mark === 'unknown')
  if (bad !== undefined) throw new Refused('not_ready', `${bad.said} Nothing was changed.`)
  if (view.is_older && !older)
    throw new Refused(
      'older',
      `${manifest.version} is older than what runs. Say that you want the older one, or take a newer update.`,
    )
  const release = releaseOf(manifest)
  const previous = await currentRelease(ports)
  if (release === previous) throw new Refused('same', `${manifest.version} with these bytes runs already.`)
  return {
    version: manifest.version,
    release,
    previous,
    file: view.file,
    bundle: { path, sha256: manifest.bundle.sha256 },
    schema: await schemaOf(ports),
    step: when === 'now' ? 'laying' : 'waiting',
    tries: 0,
    said: when === 'now' ? `${manifest.version} is unpacked beside what runs.` : 'It waits for the window.',
    when,
  }
}

export async function cancelUpdate(ports: Ports): Promise<UpdateState> {
  const work = await readWork(ports)
  if (work?.step !== 'waiting')
    throw new Refused('nothing_waits', 'No update waits for the window. One that is at work is not ended half-way.')
  await writeWork(ports, { ...work, step: 'failed', said: 'It was cancelled before it began.' })
  return readUpdates(ports)
}

/** Back to the release before, where its database is the same. */
export async function goBackByHand(ports: Ports): Promise<UpdateState> {
  await refuseWhileAtWork(ports)
  const current = await currentRelease(ports)
  const earlier = (await listReleases(ports)).find(({ is_current }) => !is_current)
  if (earlier === undefined)
    throw new Refused(
      'no_way_back',
      'There is no earlier release on this machine. Bring its update, and say that it may be older.',
    )
  const [had, now] = [await factOf(ports, earlier.name, 'SCHEMA'), await schemaOf(ports)]
  if (had !== now)
    throw new Refused(
      'other_database',
      `${earlier.version} cannot read the database of ${(await factOf(ports, current, 'APP_VERSION')) ?? current}. To go back that far, restore a backup of that time: what came since is lost then.`,
    )
  await writeWork(ports, {
    ...{ version: earlier.version, release: earlier.name, previous: current, file: '', bundle: null, schema: now },
    ...{ step: 'laying', tries: 0, said: `Back to ${earlier.version}.`, when: 'now' },
  })
  await begin(ports)
  return readUpdates(ports)
}

const lastOf = (work: Work): UpdateState['last'] => {
  const { version, file, step, said, at: when } = work
  return { version, file, state: stateOf(work), step, said, at: when }
}

export async function readUpdates(ports: Ports): Promise<UpdateState> {
  const work = await readWork(ports)
  return {
    releases: await listReleases(ports),
    last: work === undefined ? null : lastOf(work),
    debian: await readDebian(ports),
    ...(await readRestart(ports)),
  }
}
