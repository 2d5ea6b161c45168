/** A measurement: prints its lines, returns false when something is over its budget. */
type Bench = (args: readonly string[]) => Promise<boolean | void>

const BENCHES: Record<string, () => Promise<{ readonly run: Bench }>> = {
  'adopt': () => import('./adopt.ts'),
  'backup': () => import('./backup.ts'),
  'closures': () => import('./closures.ts'),
  'console': () => import('./console.ts'),
  'contents': () => import('./contents.ts'),
  'downloads': () => import('./downloads.ts'),
  'gate': () => import('./gate.ts'),
  'import': () => import('./import.ts'),
  'import-install': () => import('./import-install.ts'),
  'import-primary': () => import('./import-primary.ts'),
  'import-search': () => import('./import-search.ts'),
  'import-sync': () => import('./import-sync.ts'),
  'match': () => import('./match.ts'),
  'publish': async () => ({ run: args => everyFormat(args) }),
  'publish-apk': () => import('./publish-apk.ts'),
  'publish-deb': () => import('./publish-deb.ts'),
  'publish-rpm': () => import('./publish-rpm.ts'),
  'scale': () => import('./scale.ts'),
  'registries': () => import('./registries/main.ts'),
  'restore': () => import('./restore.ts'),
  'search': () => import('./search.ts'),
  'stocked-root': () => import('./stocked-root.ts'),
  'serve': () => import('./serve.ts'),
  'unpack': () => import('./unpack.ts'),
  'upload': () => import('./upload.ts'),
}

/** The publications of all formats, one after the other. */
async function everyFormat(args: readonly string[]): Promise<boolean> {
  let within = true
  for (const { run } of [
    await import('./publish-deb.ts'),
    await import('./publish-rpm.ts'),
    await import('./publish-apk.ts'),
  ])
    within = (await run(args)) !== false && within
  return within
}

const [name = '', ...args] = process.argv.slice(2)
const load = Object.hasOwn(BENCHES, name) ? BENCHES[name] : undefined
if (load === undefined) {
  process.stderr.write(`npm run bench ${Object.keys(BENCHES).join('|')} [sizes]\n`)
  process.exitCode = 2
} else if ((await (await load()).run(args)) === false) process.exitCode = 1
