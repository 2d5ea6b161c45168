import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rolldown, type InputOptions, type OutputOptions } from 'rolldown'
import { buildUiIfNeeded } from '../../scripts/prepare.mjs'

const ROOT = join(import.meta.dirname, '..', '..')

/** Puts a part of the program into one file. Electron comes with the program; the keychain's part lies beside it. */
async function bundle(input: InputOptions, output: OutputOptions): Promise<void> {
  const made = await rolldown({
    platform: 'node',
    cwd: ROOT,
    external: ['electron', 'keytar'],
    ...input,
    onLog: (level, log, handle) => {
      if (level === 'warn' && log.code !== 'CIRCULAR_DEPENDENCY') handle(level, log)
    },
  })
  await made.write({ comments: false, sourcemap: false, ...output })
  await made.close()
}

/** keytar as it is loaded: its script, and its native part for a platform. It has to lie outside of the archive. */
async function copyKeytar(to: string, platform: string): Promise<void> {
  const from = join(ROOT, 'node_modules', 'keytar')
  await cp(join(from, 'lib'), join(to, 'lib'), { recursive: true })
  await cp(join(from, 'prebuilds', platform), join(to, 'prebuilds', platform), { recursive: true })
  await cp(join(from, 'LICENSE.md'), join(to, 'LICENSE.md'))
  await writeFile(join(to, 'package.json'), JSON.stringify({ name: 'keytar', main: 'lib/keytar.js' }))
}

interface BundleOptions {
  /** `linux-x64`, as Node names it. */
  readonly platform?: string
  /** The public key that releases are signed with, PEM; without it no update is ever offered. */
  readonly releaseKey?: string | undefined
}

/** Makes the program's folder: two scripts, the console, icons, the keychain's part. Nothing else is in it. */
export async function bundleDesktop(
  out: string,
  { platform = `${process.platform}-${process.arch}`, releaseKey }: BundleOptions = {},
): Promise<void> {
  await rm(out, { recursive: true, force: true })
  await mkdir(out, { recursive: true })
  if (!(await buildUiIfNeeded())) throw new Error('the console did not build')
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  const define = {
    'process.env.GATEHOUSE_RELEASE_KEY': releaseKey === undefined ? 'undefined' : JSON.stringify(releaseKey),
  }
  await bundle(
    { input: join(ROOT, 'electron', 'main.ts'), transform: { define } },
    { file: join(out, 'main.mjs'), format: 'esm', paths: { keytar: './keytar/lib/keytar.js' } },
  )
  // a sandboxed preload script is CommonJS and one file
  await bundle({ input: join(ROOT, 'electron', 'preload.ts') }, { file: join(out, 'preload.cjs'), format: 'cjs' })
  // its compressed copies are for a server over a network
  await cp(join(ROOT, 'ui', 'dist'), join(out, 'ui'), { recursive: true, filter: path => !/\.(br|gz)$/.test(path) })
  await cp(join(ROOT, 'electron', 'icons'), join(out, 'icons'), { recursive: true })
  await copyKeytar(join(out, 'keytar'), platform)
  const about = {
    name: 'gatehouse',
    productName: 'Gatehouse',
    version,
    description: 'The console of Gatehouse as a desktop program',
    author: 'Gatehouse',
    type: 'module',
    main: 'main.mjs',
  }
  await writeFile(join(out, 'package.json'), `${JSON.stringify(about, null, 2)}\n`)
}
