import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { createUnpackedCopies } from '../../server/files/unpacked.ts'
import { deb } from '../../server/formats/deb/index.ts'
import { systemClock } from '../../server/lib/clock.ts'
import { createClamd } from '../../server/scanners/clamd.ts'
import type { ScanSubject } from '../../server/scanners/scanner.ts'
import { hasClamd, startClamd } from '../support/clamd.ts'
import { spoolPath } from '../support/packages.ts'
import { show, timed, timedTool, type Figure } from './tools.ts'

const UNPACKERS: Readonly<Record<string, string>> = { '.gz': 'gzip -dc', '.xz': 'xz -T1 -dc', '.zst': 'zstd -dc' }
/** clamd's own most, so that the whole archive goes through. */
const LARGE = { StreamMaxLength: '2000M', MaxFileSize: '2000M', MaxScanSize: '2000M' }

const ratio = (ours: Figure, theirs: Figure): string =>
  `${show(ours)} (${(ours.cpu / theirs.cpu).toFixed(2)} times the tool)`

/** The command that unpacks control.tar and data.tar as they lie in the package. */
function toolFor(path: string): string {
  const members = spawnSync('ar', ['t', path], { encoding: 'utf8' }).stdout.split('\n')
  return members
    .filter(name => /^(?:control|data)\.tar/.test(name))
    .map(name => `ar p '${path}' ${name} | ${UNPACKERS[/\.\w+$/.exec(name.slice(5))?.[0] ?? ''] ?? 'cat'}`)
    .join(' && ')
}

/**
 * What it costs to read a .deb to its end, alone and with its archives sent to a clamd, beside the tool that unpacks
 * them: `npm run bench unpack -- FILE.deb …`. The processor time of clamd is not in it.
 */
export async function run(paths: readonly string[]): Promise<boolean> {
  if (paths.length === 0) throw new Error('it needs the paths of .deb files')
  const folder = await mkdtemp(join(tmpdir(), 'gh-bench-'))
  const clamd = hasClamd ? await startClamd(LARGE) : undefined
  const { signal } = new AbortController()
  const scanner = createClamd({ address: clamd?.address, clock: systemClock })
  const copies = createUnpackedCopies(folder)
  try {
    for (const path of paths) {
      const file = await spoolPath(path)
      const theirs = timedTool(toolFor(path), folder)
      console.log(`${basename(path)}, ${(file.blob.size / 1e6).toFixed(1)} MB\n  ${'tool'.padEnd(12)} ${show(theirs)}`)
      console.log(`  ${'read'.padEnd(12)} ${ratio(await timed(() => deb.inspect(file, signal)), theirs)}`)
      if (clamd === undefined) continue
      const scanned = await timed(async () => {
        const unpacked = copies()
        const { identity } = await deb.inspect(file, signal, unpacked)
        const subject = { identity, inner: () => deb.inner(file, unpacked) } as unknown as ScanSubject
        const { kind } = await scanner.scan(subject, signal)
        await unpacked.close()
        if (kind === 'infected') throw new Error(`clamd found something in ${path}`)
      })
      console.log(`  ${'and scanned'.padEnd(12)} ${ratio(scanned, theirs)}`)
    }
    return true
  } finally {
    await clamd?.close()
    await rm(folder, { recursive: true, force: true })
  }
}
