import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomFillSync } from 'node:crypto'
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DAEMON_ENV, DAEMON_FLAGS } from '../../scripts/daemon-flags.mjs'
import { isInstalled, show, timedTool, type Figure } from './tools.ts'

/** What a run in a process of its own cost. */
interface Ran extends Figure {
  readonly rssMb: number
  /** Bytes that were written. */
  readonly bytes: number
}

// of a hundred packages so many of each size: most are small, and a few have most of the bytes
const SIZES: readonly (readonly [number: number, bytes: number])[] = [
  [60, 30_000],
  [25, 200_000],
  [12, 1_000_000],
  [2, 8_000_000],
  [1, 40_000_000],
]
const ROUND = SIZES.flatMap(([number, bytes]) => Array.from({ length: number }, () => bytes))
const MOST_RSS_MB = 150
const PASSPHRASE = 'Eleven-blue-herons'

/** Fills a folder as a backup pins it: packages that do not compress, and a manifest for each. */
async function fill(folder: string, bytes: number): Promise<number> {
  let [files, size] = [0, 0]
  while (size < bytes) {
    const content = randomFillSync(Buffer.allocUnsafe(ROUND[(files * 37) % ROUND.length] ?? 0))
    const sha256 = createHash('sha256').update(content).digest('hex')
    const at = join(folder, 'pool', sha256.slice(0, 2), sha256.slice(2, 4))
    await mkdir(at, { recursive: true })
    await writeFile(join(at, sha256), content)
    const manifest = { name: `package-${files}`, sha256, about: 'x'.repeat(2_000) }
    const beside = join(folder, 'manifests', 'deb', 'jammy', manifest.name)
    await mkdir(beside, { recursive: true })
    await writeFile(join(beside, '1.0_amd64.json'), JSON.stringify(manifest))
    files += 1
    size += content.length
  }
  return files
}

/** Runs one step of `backup-step.ts` as the service would: with its flags, in a process that does nothing else. */
async function step(...args: readonly string[]): Promise<Ran> {
  const script = join(import.meta.dirname, 'backup-step.ts')
  const child = spawn(process.execPath, [...DAEMON_FLAGS, script, ...args], {
    env: { ...process.env, ...DAEMON_ENV },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) said += chunk.toString()
  return JSON.parse(said) as Ran
}

/** `npm run bench backup [megabytes]`: archives and snapshots of that much, beside tar and zstd. */
export async function run([megabytes = '1000']: readonly string[]): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'gh-bench-backup-'))
  const at = (name: string): string => join(folder, name)
  const total = Number(megabytes) * 1e6
  let isWithin = true
  const tell = (what: string, ran: Ran): void => {
    isWithin &&= ran.rssMb < MOST_RSS_MB
    const rate = (total / 1e6 / ran.wall).toFixed(0)
    console.log(
      `  ${what.padEnd(38)} ${show(ran)}, ${rate} MB/s, ${ran.rssMb.toFixed(0)} MB RSS, ${(ran.bytes / 1e6).toFixed(2)} MB written`,
    )
  }
  const tool = async (what: string, script: string, made?: string): Promise<void> => {
    const figure = timedTool(script, folder)
    const size = made === undefined ? '' : `, ${((await stat(at(made))).size / 1e6).toFixed(0)} MB`
    console.log(`  ${what.padEnd(38)} ${show(figure)}, ${(total / 1e6 / figure.wall).toFixed(0)} MB/s${size}`)
  }
  try {
    await mkdir(at('disk'))
    const files = await fill(at('cut'), total)
    spawnSync('sync')
    console.log(`${files} packages, ${megabytes} MB`)
    if (isInstalled('tar', 'zstd'))
      await tool('tar | zstd', 'tar -C cut -cf - . | zstd -q -o tar.zst && sync tar.zst', 'tar.zst')
    tell('archive', await step('archive', at('cut'), at('plain.tar.gz'), ''))
    tell('archive, encrypted', await step('archive', at('cut'), at('sealed.tar.gz.age'), PASSPHRASE))
    tell('snapshot', await step('snapshot', at('cut'), at('disk'), ''))
    await fill(at('cut'), total / 100)
    tell('snapshot, a hundredth new', await step('snapshot', at('cut'), at('disk'), ''))
    tell('snapshot, encrypted', await step('snapshot', at('cut'), at('disk'), PASSPHRASE))
    tell('snapshot, encrypted, nothing new', await step('snapshot', at('cut'), at('disk'), PASSPHRASE))
    if (isInstalled('tar', 'zstd'))
      await tool('zstd -d | tar', 'mkdir out-tar && zstd -qdc tar.zst | tar -C out-tar -xf -')
    tell('archive read and compared', await step('read-archive', at('plain.tar.gz'), at('out-1'), ''))
    tell('archive, encrypted, read', await step('read-archive', at('sealed.tar.gz.age'), at('out-2'), PASSPHRASE))
    tell('snapshot read and compared', await step('read-snapshot', at('disk'), at('out-3'), ''))
    tell('snapshot, encrypted, read', await step('read-snapshot', at('disk'), at('out-4'), PASSPHRASE))
    return isWithin
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
