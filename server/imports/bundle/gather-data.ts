import { copyFile, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { stat } from 'node:fs/promises'
import type { Telling } from '../../core/work.ts'
import { sha256Of } from '../../lib/digest-file.ts'
import { listSignatures } from '../../scanners/clamav-signatures.ts'
import type { CollectFeeds } from '../../vulndb/feeds/collect.ts'
import type { BundledData } from './manifest.ts'

/** Data that go along, with where they lie now. */
export interface GatheredData {
  readonly data: readonly BundledData[]
  readonly paths: ReadonlyMap<string, { readonly path: string; readonly size: number }>
  readonly say: readonly Telling[]
}

export interface GatherDeps {
  readonly collectFeeds: CollectFeeds
  /** Where the antivirus engine's signatures lie. */
  readonly signatureFolder: () => string
}

export interface GatherWish {
  readonly vulnerability: boolean
  readonly antivirus: boolean
  /** Digests of what the site has loaded. */
  readonly loaded: ReadonlySet<string>
  /** Copies are made here: an update may replace the originals meanwhile. */
  readonly scratch: string
  readonly signal: AbortSignal
  readonly told: () => Promise<void>
}

interface Found extends Omit<BundledData, 'sha256'> {
  readonly path: string
}

async function vulnerabilityFiles(
  { collectFeeds }: GatherDeps,
  { signal, told }: GatherWish,
): Promise<{ readonly found: readonly Found[]; readonly say: readonly Telling[] }> {
  const collected = await collectFeeds(signal, told)
  if (collected === undefined)
    return {
      found: [],
      say: [
        {
          level: 'warning',
          message: 'No vulnerability data go along: no feeds are set. An admin sets security.feeds.',
        },
      ],
    }
  return {
    found: collected.files.map(({ path, label, as_of, distribution, whole }) => ({
      kind: 'vulnerability',
      name: label,
      path,
      ...(as_of === undefined ? {} : { as_of }),
      ...(distribution === undefined ? {} : { distribution }),
      ...(whole === undefined ? {} : { whole }),
    })),
    say: collected.failed.map(({ source, why }) => ({
      level: 'warning' as const,
      message: `${source} could not be fetched (${why}); what was fetched before goes along.`,
    })),
  }
}

async function signatureFiles({ signatureFolder }: GatherDeps): Promise<{
  readonly found: readonly Found[]
  readonly say: readonly Telling[]
}> {
  const folder = signatureFolder()
  const files = await listSignatures(folder)
  return {
    found: files.map(({ file, built_at }) => ({
      kind: 'antivirus',
      name: file,
      path: join(folder, file),
      as_of: built_at,
    })),
    say:
      files.length > 0
        ? []
        : [{ level: 'warning', message: `No antivirus signatures go along: there are none in ${folder}.` }],
  }
}

/** Vulnerability data and antivirus signatures that the site does not have yet. */
export async function gatherData(deps: GatherDeps, wish: GatherWish): Promise<GatheredData> {
  const { loaded, scratch, signal } = wish
  const parts = [
    ...(wish.vulnerability ? [await vulnerabilityFiles(deps, wish)] : []),
    ...(wish.antivirus ? [await signatureFiles(deps)] : []),
  ]
  await rm(scratch, { recursive: true, force: true })
  await mkdir(scratch, { recursive: true })
  const data: BundledData[] = []
  const paths = new Map<string, { path: string; size: number }>()
  for (const [n, { path, ...about }] of parts.flatMap(({ found }) => found).entries()) {
    signal.throwIfAborted()
    const copy = join(scratch, String(n))
    await copyFile(path, copy)
    const sha256 = await sha256Of(copy)
    if (loaded.has(sha256)) continue
    data.push({ ...about, sha256 })
    paths.set(sha256, { path: copy, size: (await stat(copy)).size })
  }
  return { data, paths, say: parts.flatMap(({ say }) => say) }
}
