import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The layers of `server/`, lowest first. An import may go down, or stay in its own folder. */
const RANKS: readonly (readonly string[])[] = [
  ['core', 'lib'],
  ['db', 'files', 'record', 'work'],
  ['formats', 'scanners', 'vulndb', 'contents', 'signing', 'settings', 'outbound', 'directory', 'machine'],
  ['catalog', 'pipeline', 'publish', 'review', 'sbom', 'backup', 'inventory', 'imports', 'registries'],
  ['features'],
  ['http', 'api.ts'],
  ['compose.ts', 'env.ts', 'env-table.ts', 'main.ts', 'cli', 'compose'],
]
/** Allowed within a layer: what works through the catalogue may know it. */
const NEIGHBOURS = new Set([
  'work -> db',
  'scanners -> vulndb',
  'contents -> formats',
  'pipeline -> catalog',
  'publish -> catalog',
  'sbom -> catalog',
  'inventory -> catalog',
  'review -> catalog',
  'review -> pipeline',
  'imports -> catalog',
  'imports -> pipeline',
  'imports -> publish',
  'registries -> catalog',
  'registries -> pipeline',
])
/**
 * Where the console may name types of the server: the file that gathers what goes over the wire. Only types cross over.
 */
const MAY_SEE_SERVER = new Set(['ui/wire.ts'])
/** Code of the server that the console has in its bundle, which imports types only: sentences, and what nobody sees. */
const SHARED_WITH_CONSOLE = new Set(['server/record/audit-sentences.ts', 'server/core/unseen.ts'])
/** Where the console may name types of the desktop program: the file that says what is around the page. */
const MAY_SEE_DESKTOP = 'ui/host.ts'
/** Code of the desktop program that is in the console's bundle: words alone, in the language of the page. */
const SHARED_WITH_PAGES = new Set(['electron/core/words.ts'])
/** Code of the console that the desktop program runs, too: it knows neither of them. */
const SHARED_WITH_DESKTOP = new Set(['ui/sse.ts'])

/** The one file that composes the parts. */
const ALL = 'server/compose.ts'

/** One import of a source file: its target, and whether it imports only types. */
export interface Import {
  readonly from: string
  readonly to: string
  readonly isType: boolean
}

// import('./a.ts') while running; typeof import('./a.ts') is a type
const LATE_IMPORT = /(\btypeof\s+)?\bimport\(\s*['"](\.{1,2}\/[^'"]+)['"]/g
const IMPORT = /^\s*(?:import|export)\s+(type\s+)?([^'"`;]*?\bfrom\s*)?['"](\.{1,2}\/[^'"]+)['"]/gm

/**
 * All relative imports in the text of a file; `import { type A, type B }` counts as types only. Comments that look like
 * imports at a line's start count too.
 */
export function readImports(from: string, text: string, root: string): Import[] {
  const resolved = (target: string): string => relative(root, resolve(root, dirname(from), target))
  const late = [...text.matchAll(LATE_IMPORT)].map(([, type, target = '']) => ({
    from,
    to: resolved(target),
    isType: type !== undefined,
  }))
  const early = [...text.matchAll(IMPORT)].map(([, type, clause = '', target = '']) => {
    const names =
      /\{([^}]*)\}/
        .exec(clause)?.[1]
        ?.split(',')
        .map(name => name.trim())
        .filter(name => name !== '') ?? []
    const isType =
      type !== undefined || (names.length > 0 && /^\s*\{/.test(clause) && names.every(name => name.startsWith('type ')))
    return { from, to: resolved(target), isType }
  })
  return [...early, ...late]
}

interface Place {
  readonly rank: number
  readonly unit: string
}

/** The layer of a file below `server/`, and the folder (or feature) it belongs to. */
function placeOf(path: string): Place | undefined {
  const [top = '', second = ''] = path.replace(/^server\//, '').split('/')
  const rank = RANKS.findIndex(names => names.includes(top))
  return rank === -1 ? undefined : { rank, unit: top === 'features' ? `features/${second}` : top }
}

/** The desktop program: its core knows no Electron and no server, and is known by its host. */
function judgeDesktop({ from, to, isType }: Import): string | undefined {
  if (SHARED_WITH_PAGES.has(from) && !isType)
    return `${from} imports ${to}, so that code would be in the console's bundle. Import types only.`
  if (from.startsWith('electron/core/') && to.startsWith('electron/') && !to.startsWith('electron/core/'))
    return `${from} imports ${to}. The core knows no Electron: take what it needs as a port (electron/core/ports.ts).`
  if (from.startsWith('electron/pack/') && to.startsWith('scripts/')) return undefined
  if (to.startsWith('electron/') || SHARED_WITH_DESKTOP.has(to) || (isType && to.startsWith('server/')))
    return undefined
  return `${from} imports ${to}. The desktop program speaks with a server over HTTP: import types of server/ only.`
}

/** What is wrong with the packages that a file of the desktop program imports. */
export function judgePackages(from: string, text: string): string | undefined {
  if (!from.startsWith('electron/core/') || !/\b(?:from|import\(|require\()\s*['"]electron(?:\/|['"])/.test(text))
    return undefined
  return `${from} imports electron. Only electron/host/, electron/main.ts and electron/preload.ts do; the core takes ports (electron/core/ports.ts).`
}

/** What is wrong with one import, and where its file should go; nothing when it is fine. */
export function judge({ from, to, isType }: Import): string | undefined {
  if (from.startsWith('electron/')) return judgeDesktop({ from, to, isType })
  if (from.startsWith('ui/')) {
    if (from === MAY_SEE_DESKTOP && (isType ? to.startsWith('electron/core/') : SHARED_WITH_PAGES.has(to)))
      return undefined
    if (to.startsWith('ui/') || SHARED_WITH_CONSOLE.has(to) || (isType && MAY_SEE_SERVER.has(from))) return undefined
    return isType
      ? `${from} looks at ${to}. Name the type in ui/wire.ts and take it from there.`
      : `${from} imports ${to}, so that code would be in the console's bundle. Import types only, through ui/wire.ts.`
  }
  if (SHARED_WITH_CONSOLE.has(from) && !isType)
    return `${from} imports ${to}, so that code would be in the console's bundle. Import types only.`
  if (!from.startsWith('server/')) return undefined
  if (!to.startsWith('server/'))
    return `${from} imports ${to}, which is outside server/. What the server needs lives in server/.`
  const [here, there] = [placeOf(from), placeOf(to)]
  if (here === undefined)
    return `${from} is on no floor. Put it into one of the folders of RANKS in scripts/check-layers.ts, or give its folder a rank there.`
  if (/\/compose\.ts$/.test(to) && to !== ALL && from !== ALL)
    return `${from} imports ${to}. A part is composed once, in ${ALL}: take what it makes as a parameter.`
  if (there === undefined || here.unit === there.unit || there.rank < here.rank) return undefined
  if (there.rank > here.rank) {
    return `${from} (floor ${here.rank}) imports ${to} (floor ${there.rank}), which is above it. Move what both need down to ${RANKS[Math.max(0, here.rank - 1)]?.join(' or ')}, or pass it in as a parameter.`
  }
  // types of a neighbour are needed for parameters; features do not even know each other's
  if (isType && here.rank < 4) return undefined
  if (here.rank === 0 || NEIGHBOURS.has(`${here.unit} -> ${there.unit}`) || here.rank === RANKS.length - 1)
    return undefined
  return `${from} imports ${to} beside it. ${here.unit} and ${there.unit} talk through a value, or through a verb one floor down: move the noun lower.`
}

/**
 * Every cycle of imports, each once, as `a -> b -> a`. A cycle of types runs, but nobody can read either file first.
 */
export function findCycles(imports: readonly Import[]): string[] {
  const edges = new Map<string, string[]>()
  for (const { from, to } of imports) edges.set(from, [...(edges.get(from) ?? []), to])
  const done = new Set<string>()
  const cycles = new Set<string>()
  const walk = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file)
    if (at !== -1) {
      cycles.add([...path.slice(at), file].join(' -> '))
      return
    }
    if (done.has(file)) return
    for (const next of edges.get(file) ?? []) walk(next, [...path, file])
    done.add(file)
  }
  for (const file of edges.keys()) walk(file, [])
  return [...cycles]
}

function listSources(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return []
  return (
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map(name => join(folder, name))
      // tests may import anything, and so may what builds
      .filter(
        path =>
          /\.(ts|svelte)$/.test(path) &&
          !/\.test\.ts$|contract-suite\.ts$|^ui\/dist\/|^ui\/vite\.config\.ts$/.test(path),
      )
  )
}

/** Everything that is wrong with the imports below `root`, one sentence each. */
export function checkLayers(root: string): string[] {
  const sources = ['server', 'ui', 'electron']
    .flatMap(folder => listSources(root, folder))
    .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))
  const imports = sources.flatMap(({ path, text }) => readImports(path, text, root))
  return [
    ...[...imports.map(judge), ...sources.map(({ path, text }) => judgePackages(path, text))].filter(
      problem => problem !== undefined,
    ),
    ...findCycles(imports).map(cycle => `A circle of imports: ${cycle}. Move what they share down.`),
  ]
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const problems = checkLayers(join(import.meta.dirname, '..'))
  for (const problem of problems) console.error(problem)
  process.exitCode = problems.length === 0 ? 0 : 1
}
