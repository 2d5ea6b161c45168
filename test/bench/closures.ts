import { compareVersions } from '../../server/formats/deb/version.ts'
import { isInBase, type Candidate, type Closure, type Universe } from '../../server/imports/resolve/closure.ts'
import { debResolver } from '../../server/imports/resolve/deb.ts'
import { createUniverse } from '../../server/imports/resolve/universe.ts'
import { candidatesOf } from '../support/candidates.ts'
import { createAptOracle } from './apt-oracle.ts'
import { problemsOf, stanzasOf, type Stanza } from './closure-check.ts'
import { debianIndexes, readIndexText } from './debian-index.ts'
import { isRun, type Measured } from './rows.ts'
import { findUninstallable } from './uninstallable.ts'

/** Asked in every run, beside those drawn. */
const ALWAYS = [
  ...['nginx', 'postgresql-15', 'libreoffice', 'libreoffice-calc', 'gnome', 'default-jdk', 'python3-numpy'],
  ...['build-essential', 'kde-full', 'task-gnome-desktop', 'texlive-full', 'exim4', 'apache2', 'mariadb-server'],
]

/** Numbers from 0 below 1, the same for the same seed. */
function drawing(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

interface Archive {
  readonly universe: Universe
  readonly names: readonly string[]
  readonly base: readonly Candidate[]
  readonly stanzas: ReadonlyMap<string, Stanza>
}

const key = ({ name, version }: { readonly name: string; readonly version: string }): string => `${name} ${version}`

async function readArchive(): Promise<Archive | undefined> {
  const texts = debianIndexes()
  if (texts.length === 0) return undefined
  let start = performance.now()
  const lap = (what: string): void => {
    console.log(`${what}: ${(performance.now() - start).toFixed(0)} ms`)
    start = performance.now()
  }
  const all: Candidate[] = []
  for (const [at, text] of texts.entries()) all.push(...candidatesOf(await readIndexText(text), `source-${at}`))
  lap(`${all.length} packages read and checked`)
  const universe = createUniverse(all, compareVersions)
  lap('indexed in memory')
  const names = [...new Set(all.map(({ name }) => name))].sort()
  const roots = names
    .map(name => universe.named(name)[0])
    .filter(one => one !== undefined && isInBase(one, debResolver.base))
    .map(one => ({ name: one?.name ?? '' }))
  const base = debResolver.resolve(universe, { roots, arch: 'amd64', base: [], published: [], recommends: false })
  const stanzas = new Map(texts.flatMap(text => stanzasOf(text.toString())).map(one => [key(one), one]))
  return { universe, names, base: base.packages, stanzas }
}

interface Score {
  valid: number
  exact: number
  lean: number
  refused: number
  ms: number
}

function scoreOne(
  score: Score,
  {
    root,
    closure,
    apt,
    problems,
  }: {
    readonly root: string
    readonly closure: Closure
    readonly apt: ReadonlySet<string> | undefined
    readonly problems: readonly string[]
  },
): void {
  const own = new Set(closure.packages.map(key))
  const isExact = apt === undefined ? !closure.satisfied : own.size === apt.size && [...own].every(one => apt.has(one))
  if (problems.length === 0) score.valid++
  if (isExact) score.exact++
  if (apt === undefined || own.size <= apt.size) score.lean++
  if (!closure.satisfied) score.refused++
  for (const problem of problems.slice(0, 5)) console.log(`  ${root}: ${problem}`)
  if (isExact) return
  const more = [...own].filter(one => apt?.has(one) !== true)
  const less = [...(apt ?? [])].filter(one => !own.has(one))
  const said = closure.satisfied ? '' : ` refused: ${closure.unresolved.map(({ reason }) => reason)[0]}`
  console.log(
    `  ${root}: ${apt === undefined ? 'apt refuses; ' : ''}more ${more.slice(0, 6).join(', ')}; less ${less.slice(0, 6).join(', ')}${said}`,
  )
}

async function judge(
  archive: Archive,
  of: { roots: readonly string[]; base: boolean; recommends: boolean },
): Promise<Score> {
  const base = of.base ? archive.base : []
  const stanzaOf = (one: Candidate): Stanza[] => {
    const found = archive.stanzas.get(key(one))
    return found === undefined ? [] : [found]
  }
  const apt = await createAptOracle(base.flatMap(stanzaOf).map(({ text }) => text))
  const score: Score = { valid: 0, exact: 0, lean: 0, refused: 0, ms: 0 }
  const ask = { arch: 'amd64', published: [], recommends: of.recommends }
  const waiting = [...of.roots]
  const work = async (): Promise<void> => {
    for (let root = waiting.shift(); root !== undefined; root = waiting.shift()) {
      const start = performance.now()
      const closure = debResolver.resolve(archive.universe, { ...ask, base, roots: [{ name: root }] })
      score.ms += performance.now() - start
      const others = base.filter(one => one.name !== root)
      const problems = closure.satisfied ? problemsOf([...closure.packages, ...others].flatMap(stanzaOf)) : []
      scoreOne(score, { root, closure, problems, apt: await apt.closure(root, of.recommends) })
    }
  }
  await Promise.all([work(), work()])
  await apt.close()
  return score
}

/** Closures of packages drawn at random, on an empty machine, beside apt of this machine. */
export async function measureClosures(count: number, seed: number): Promise<Measured> {
  const what = `closures of ${count} packages of Debian drawn at random`
  const archive = await readArchive()
  if (archive === undefined) return [{ what, why: 'apt of this machine has no index of Debian: run apt-get update' }]
  const roots = drawn(archive, count, seed)
  const broken = await judgeUninstallable(archive)
  const { valid, exact, lean, ms } = await judge(archive, { roots, base: false, recommends: false })
  return [
    {
      what: `${what}: all valid, 95 of 100 as apt, 97.5 not larger`,
      here: `${valid} valid, ${exact} as apt, ${lean} not larger; ${(ms / count).toFixed(1)} ms each`,
      isWithin: valid === count && exact >= 0.95 * count && lean >= 0.975 * count,
    },
    broken,
  ]
}

/** What no machine can install is told as unresolved. */
async function judgeUninstallable({ universe, stanzas }: Archive): Promise<Measured[number]> {
  const what = 'packages of Debian that dose-debcheck finds uninstallable: all told as unresolved'
  const broken = await findUninstallable(stanzas.values())
  if (broken === undefined) return { what, why: 'dose-debcheck is not installed' }
  const ask = { arch: 'amd64', base: [], published: [], recommends: false }
  const resolved = broken.filter(root => debResolver.resolve(universe, { ...ask, roots: [root] }).satisfied)
  const said = (list: typeof broken): string => list.map(({ name }) => name).join(', ') || 'none'
  console.log(`uninstallable by dose-debcheck: ${said(broken)}; resolved here: ${said(resolved)}`)
  return { what, here: `${broken.length - resolved.length} of ${broken.length}`, isWithin: resolved.length === 0 }
}

/** So many names of the archive; the same for the same seed. */
function drawn({ names }: Archive, count: number, seed: number): string[] {
  const draw = drawing(seed)
  return Array.from({ length: count }, () => names[Math.floor(draw() * names.length)] ?? '')
}

/**
 * Closures of packages of Debian drawn at random, beside apt: `npm run bench closures [count] [seed] [recommends]`.
 * Needs the indexes that `apt-get update` brings.
 */
export async function run([count = '200', seed = '1', word]: readonly string[]): Promise<boolean> {
  const archive = await readArchive()
  if (archive === undefined) {
    console.log('apt of this machine has no index of Debian: run apt-get update.')
    return true
  }
  const broken = await judgeUninstallable(archive)
  let isGood = !isRun(broken) || broken.isWithin !== false
  for (const base of [false, true]) {
    for (const [what, roots] of [
      ['drawn', drawn(archive, Number(count), Number(seed))],
      ['always', ALWAYS],
    ] as const) {
      // what a machine has already, apt does not download again
      const asked = roots.filter(
        name => archive.universe.named(name).length > 0 && (!base || !archive.base.some(one => one.name === name)),
      )
      const { valid, exact, lean, refused, ms } = await judge(archive, {
        roots: asked,
        base,
        recommends: word === 'recommends',
      })
      console.log(
        `${what}, base ${base ? `minbase (${archive.base.length})` : 'none'}, seed ${seed}: ${asked.length} asked, ${valid} valid, ${exact} as apt, ${lean} lean, ${refused} refused, ${(ms / asked.length).toFixed(1)} ms each`,
      )
      isGood &&= valid === asked.length && exact >= 0.95 * asked.length && lean >= 0.975 * asked.length
    }
  }
  return isGood
}
