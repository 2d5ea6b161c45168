import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { isRefusal } from '../../core/errors.ts'
import { sha256Of } from '../../lib/digest-file.ts'
import { lasting } from '../../lib/pieces.ts'
import { listSignatures } from '../../scanners/clamav-signatures.ts'
import type { Importer } from '../../vulndb/store/importer.ts'
import type { ImportFile } from '../../vulndb/read/run.ts'
import type { OpenBundle } from './members.ts'
import type { BundledData } from './manifest.ts'
import type { DataOutcome } from './senders.ts'

export interface TakeDataDeps {
  readonly importer: Pick<Importer, 'import'>
  readonly signatureFolder: () => string
  /** Has the engine take the signature files of a folder. @throws signatures_not_updated, engine_unavailable */
  readonly loadSignatures: (folder: string) => Promise<void>
}

export interface TakeDataFrom {
  readonly bundle: OpenBundle
  /** An empty folder for the time being. */
  readonly scratch: string
  readonly signal: AbortSignal
  /** Load older data, too: an admin said so. */
  readonly allowOlder: boolean
}

interface Extracted extends BundledData {
  readonly path: string
}

async function extract({ bundle, signal }: TakeDataFrom, one: BundledData, path: string): Promise<Extracted> {
  await mkdir(dirname(path), { recursive: true })
  await pipeline(lasting(bundle.read(one.sha256, signal)), createWriteStream(path, { mode: 0o640 }))
  return { ...one, path }
}

const sentence = (error: unknown): string => (error instanceof Error ? error.message.slice(0, 500) : 'it broke')

/** What came of one group of files: they are loaded together, or not at all. */
async function loadTogether(
  { importer }: TakeDataDeps,
  files: readonly Extracted[],
  force: boolean,
): Promise<DataOutcome[]> {
  const outcomes = (outcome: DataOutcome['outcome'], why: string | null): DataOutcome[] =>
    files.map(({ kind, name }) => ({ kind, name, outcome, why }))
  try {
    const { status } = await importer.import(
      files.map(({ path, name, as_of, whole, distribution }): ImportFile => ({
        path,
        label: name,
        ...(as_of === undefined ? {} : { as_of }),
        ...(whole === undefined ? {} : { whole }),
        ...(distribution === undefined ? {} : { distribution }),
      })),
      // whoever signed the bundle is pinned
      { trusted: true, force },
    )
    return outcomes(status === 'imported' ? 'loaded' : 'already', null)
  } catch (error) {
    if (!isRefusal(error) || error.code === 'storage_full' || error.code === 'import_running') throw error
    return outcomes(error.code === 'older_database' ? 'older' : 'failed', sentence(error))
  }
}

/** Loads vulnerability data: all at once, and where that is refused, source by source. */
async function takeVulnerability(
  deps: TakeDataDeps,
  from: TakeDataFrom,
  data: readonly BundledData[],
): Promise<readonly DataOutcome[]> {
  const files: Extracted[] = []
  for (const [n, one] of data.entries()) files.push(await extract(from, one, join(from.scratch, 'vulndb', String(n))))
  if (files.length === 0) return []
  const all = await loadTogether(deps, files, from.allowOlder)
  if (all.every(({ outcome }) => outcome === 'loaded' || outcome === 'already')) return all
  const outcomes: DataOutcome[] = []
  // files of one folder may make up one source
  for (const group of Map.groupBy(files, ({ name }) => dirname(name)).values()) {
    from.signal.throwIfAborted()
    outcomes.push(...(await loadTogether(deps, group, from.allowOlder)))
  }
  return outcomes
}

/** Loads signatures that are newer than those here. */
async function takeSignatures(
  { signatureFolder, loadSignatures }: TakeDataDeps,
  from: TakeDataFrom,
  data: readonly BundledData[],
): Promise<readonly DataOutcome[]> {
  const folder = signatureFolder()
  const here = new Map((await listSignatures(folder)).map(one => [one.file, one]))
  const scratch = join(from.scratch, 'clamav')
  const outcomes: DataOutcome[] = []
  const loading: DataOutcome[] = []
  for (const one of data) {
    const { kind, name } = one
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name)) {
      outcomes.push({ kind, name, outcome: 'failed', why: 'Its name is none of a signature file.' })
      continue
    }
    const known = here.get(name)
    if (known !== undefined && (await sha256Of(join(folder, name)).catch(() => '')) === one.sha256) {
      outcomes.push({ kind, name, outcome: 'already', why: null })
      continue
    }
    await extract(from, one, join(scratch, name))
    const [came] = (await listSignatures(scratch)).filter(({ file }) => file === name)
    const builtAt = came === undefined || came.version === null ? one.as_of : came.built_at
    if (known !== undefined && !from.allowOlder && (builtAt ?? '') < known.built_at) {
      await rm(join(scratch, name), { force: true })
      const why = `${name} is of ${(builtAt ?? 'no known day').slice(0, 10)}, and what is loaded is of ${known.built_at.slice(0, 10)}.`
      outcomes.push({ kind, name, outcome: 'older', why })
    } else loading.push({ kind, name, outcome: 'loaded', why: null })
  }
  if (loading.length === 0) return outcomes
  try {
    await loadSignatures(scratch)
    return [...outcomes, ...loading]
  } catch (error) {
    if (!isRefusal(error)) throw error
    return [...outcomes, ...loading.map(one => ({ ...one, outcome: 'failed' as const, why: sentence(error) }))]
  }
}

/** Loads the data of a verified bundle; what is older than what is loaded here stays out, and is told. */
export async function takeData(deps: TakeDataDeps, from: TakeDataFrom): Promise<readonly DataOutcome[]> {
  const { data } = from.bundle.manifest
  await rm(from.scratch, { recursive: true, force: true })
  try {
    const kinds = Map.groupBy(data, ({ kind }) => kind)
    const known = [
      ...(await takeVulnerability(deps, from, kinds.get('vulnerability') ?? [])),
      ...(await takeSignatures(deps, from, kinds.get('antivirus') ?? [])),
    ]
    const others = data.filter(({ kind }) => kind !== 'vulnerability' && kind !== 'antivirus')
    return [
      ...known,
      ...others.map(({ kind, name }) => ({
        kind,
        name,
        outcome: 'unknown_kind' as const,
        why: `This release does nothing with ${kind}; a newer one may.`,
      })),
    ]
  } finally {
    await rm(from.scratch, { recursive: true, force: true })
  }
}
