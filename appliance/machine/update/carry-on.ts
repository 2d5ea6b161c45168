import { rm } from 'node:fs/promises'
import { sha256Of } from '../../../server/lib/digest-file.ts'
import { at, must, Refused, type Ports } from '../ports.ts'
import { keepDatabase, putBackDatabase, schemaOf } from './database.ts'
import { proveRelease } from './gate.ts'
import { SIGNED } from './manifest.ts'
import { end, isAtWork, listReleases, readWork, RELEASES, writeWork, type Step, type Work } from './work.ts'

/** A step that was begun so often, and each time cut short, is not begun again. */
const MOST_TRIES = 3
const LONG_MS = 60 * 60_000

/** Written when it begins, so that what is written is what a power cut finds. */
const next = (work: Work, step: Step, said: string): Work => ({ ...work, step, said, tries: 1 })

/** Unpacks the bundle beside the releases that are there. Cut short it leaves a folder that nothing uses. */
async function lay(ports: Ports, work: Work): Promise<Work> {
  const { release, bundle } = work
  const folder = `${RELEASES}/${release}`
  if (bundle !== null) {
    if ((await sha256Of(at(ports, bundle.path))) !== bundle.sha256)
      throw new Refused(
        'bad_update',
        `${bundle.path} is not what was signed any longer. Is the disk sound? Bring the update again.`,
      )
    await must(ports, 'rm', ['-rf', folder, `${folder}.part`])
    await must(ports, 'install', ['-d', '-m', '755', `${folder}.part`])
    await must(ports, 'tar', ['--no-same-owner', '--zstd', '-C', `${folder}.part`, '-xf', bundle.path], {
      timeoutMs: LONG_MS,
    })
    // what gatehouse-check verifies again
    await must(ports, 'cp', [`${bundle.path}${SIGNED}`, `${folder}.part/${SIGNED}`])
    for (const path of ['bin/node', 'server/main.mjs', 'machine/update.mjs', 'appliance/provision.sh'])
      await must(ports, 'test', ['-s', `${folder}.part/${path}`])
    await must(ports, 'sync', ['-f', `${folder}.part`], { timeoutMs: LONG_MS })
    await must(ports, 'mv', ['-T', `${folder}.part`, folder])
    await must(ports, 'sync', ['-f', RELEASES])
  }
  return next(work, 'keeping', 'The service stops, and its database is copied.')
}

/** From here on nobody writes, so the copy is the last state before. */
async function keep(ports: Ports, work: Work): Promise<Work> {
  await must(ports, 'systemctl', ['stop', 'gatehouse.service'], { timeoutMs: LONG_MS })
  await keepDatabase(ports)
  return next(work, 'switching', `Files, units and the link are those of ${work.version}.`)
}

/** Every release lays what belongs to it, so the way back is the way there. */
async function layOf(ports: Ports, release: string): Promise<void> {
  await must(ports, `${RELEASES}/${release}/appliance/provision.sh`, ['--release', release], { timeoutMs: LONG_MS })
}

async function prove(ports: Ports, work: Work): Promise<Work> {
  const reason = await proveRelease(ports, work.release, line => ports.log(line))
  if (reason !== undefined) return next(work, 'going_back', `${work.version} is no good: ${reason}.`)
  for (const path of work.bundle === null ? [] : [work.bundle.path, `${work.bundle.path}${SIGNED}`])
    await rm(at(ports, path), { force: true })
  for (const { name } of await listReleases(ports))
    if (![work.release, work.previous].includes(name)) await must(ports, 'rm', ['-rf', `${RELEASES}/${name}`])
  return next(work, 'done', `${work.version} runs, and its health is good.`)
}

async function goBack(ports: Ports, work: Work): Promise<Work> {
  const { previous, said } = work
  await must(ports, 'systemctl', ['stop', 'gatehouse.service'], { timeoutMs: LONG_MS })
  // a database that was dropped and is not yet replaced has no schema
  const now = await schemaOf(ports).catch(() => '')
  if (now !== work.schema) await putBackDatabase(ports)
  await layOf(ports, previous)
  const reason = await proveRelease(ports, previous, line => ports.log(line))
  const database = now === work.schema ? 'The database was not changed.' : 'The database is as it was before.'
  if (reason !== undefined)
    return next(work, 'failed', `${said} The release before was put back, and is not well either: ${reason}.`)
  return next(work, 'went_back', `${said} The release before runs again. ${database}`)
}

const DOES: { readonly [S in Step]?: (ports: Ports, work: Work) => Promise<Work> } = {
  laying: lay,
  keeping: keep,
  switching: async (ports, work) => {
    await layOf(ports, work.release)
    return next(work, 'proving', `${work.version} starts, and its health is watched.`)
  },
  proving: prove,
  going_back: goBack,
}

/** What follows when a step cannot be done: before the switch nothing was changed, after it the way leads back. */
async function afterFailure(ports: Ports, work: Work, why: string): Promise<Work> {
  if (work.step === 'switching' || work.step === 'proving') return next(work, 'going_back', why)
  if (work.step === 'going_back')
    return next(
      work,
      'failed',
      `${why} The way back failed; the release before is ${work.previous}, see journalctl -u gatehouse-update.`,
    )
  await ports.run('systemctl', ['--no-block', 'start', 'gatehouse.service'])
  return next(work, 'failed', `${why} The release that ran goes on.`)
}

/** Programs fail while the machine goes down: that says nothing of the update. */
async function isGoingDown(ports: Ports): Promise<boolean> {
  const { out } = await ports.run('systemctl', ['is-system-running'])
  return !['initializing', 'starting', 'running', 'degraded', 'maintenance'].includes(out.trim())
}

/**
 * Carries the update on from where it is, until it is done, went back or failed. May be ended at any moment, by a power
 * cut, too: the next call goes on with the step that was cut short.
 * @throws when the machine goes down meanwhile
 */
export async function carryOn(ports: Ports): Promise<Work | undefined> {
  let work = await readWork(ports)
  if (work !== undefined && isAtWork(work)) work = await writeWork(ports, { ...work, tries: work.tries + 1 })
  while (work !== undefined && isAtWork(work)) {
    const does = DOES[work.step]
    try {
      if (work.tries > MOST_TRIES || does === undefined)
        throw new Refused('cut_short', `It was cut short ${MOST_TRIES} times in one step (${work.step}).`)
      work = await writeWork(ports, await does(ports, work))
    } catch (error) {
      if (await isGoingDown(ports)) throw error
      const why = error instanceof Refused ? error.message : `${work.step} failed: ${String(error)}.`
      work = await writeWork(ports, await afterFailure(ports, work, why))
    }
  }
  await end(ports)
  return work
}
