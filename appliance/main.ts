import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { makeBundle, sourceDate } from './bundle.ts'
import { SUITES, type Suite } from './debian-root.ts'
import { buildImage, FORMATS, TOOLS, type ImageFormat } from './image.ts'
import { makeKey, readPrivateKey, readReleaseKey, SignRefused } from '../electron/pack/sign.ts'
import { lackingTools } from './lacking-tools.ts'
import { readChanges, signUpdate } from './sign-update.ts'

const ROOT = join(import.meta.dirname, '..')
const USAGE = `npm run appliance -- [image | bundle | update | key | test] [--suite ${SUITES.join(' | ')}] [--format ${Object.keys(FORMATS).join(' | ')}]... [--out FOLDER]
                       [--key FILE] [--changes FILE] [--from VERSION]
  image   builds the disk image (the default), with a bundle of these sources
  bundle  builds the bundle alone, for provision.sh on a plain Debian
  update  builds the bundle and signs it as an update, with the private key in --key; --changes has a line for each
          change, "fix: …" or "new: …"; releases from --from on take it (by default all)
  key     makes that key in --key, and its public part beside it, which GATEHOUSE_RELEASE_KEY gives to images and bundles
  test    boots the qcow2 image in FOLDER under QEMU: by BIOS and by UEFI, with a stick, with a wrong clock, without a
          network, and with --key in which updates are cut short; looks through its files`

class Stop extends Error {}

function among<Word extends string>(what: string, word: string, words: readonly Word[]): Word {
  const found = words.find(one => one === word)
  if (found === undefined) throw new Stop(`${what} ${word} is not known. It is one of ${words.join(', ')}.`)
  return found
}

/** What was asked for. @throws Stop */
function asked(args: readonly string[]) {
  const options = {
    suite: { type: 'string', default: 'trixie' },
    format: { type: 'string', multiple: true },
    out: { type: 'string', default: join(ROOT, 'dist', 'appliance') },
    key: { type: 'string' },
    changes: { type: 'string' },
    from: { type: 'string', default: '0.0.0' },
    help: { type: 'boolean' },
  } as const
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options })
  const formats = Object.keys(FORMATS) as ImageFormat[]
  return {
    what:
      values.help === true
        ? ('help' as const)
        : among('The word', positionals[0] ?? 'image', ['image', 'bundle', 'update', 'key', 'test']),
    suite: among<Suite>('The suite', values.suite, SUITES),
    formats: values.format?.map(word => among('The format', word, formats)) ?? formats,
    out: values.out,
    key: values.key,
    changes: values.changes,
    from: values.from,
  }
}

function need(tools: Readonly<Record<string, string>>): void {
  const missing = lackingTools(tools)
  if (missing.length > 0) throw new Stop(`This needs ${missing.join(', ')}: apt-get install ${missing.join(' ')}`)
}

/** Tests the image in `out`, its files and machines of it. With the key it was built for, updates of it, too. */
async function testImage(out: string, key: string | undefined): Promise<void> {
  const where = { APPLIANCE_OUT: resolve(out), ...(key === undefined ? {} : { APPLIANCE_KEY: resolve(key) }) }
  // one machine at a time
  const args = [join(ROOT, 'scripts', 'test.mjs'), 'qemu', '--no-file-parallelism']
  const child = spawn(process.execPath, args, { stdio: 'inherit', env: { ...process.env, ...where } })
  const [code] = (await once(child, 'exit')) as [number | null]
  process.exitCode = code ?? 1
}

/** The bundle as a signed update. */
async function updateOf(
  bundle: string,
  out: string,
  date: number,
  { key = '', changes, from }: { key?: string | undefined; changes?: string | undefined; from: string },
): Promise<string> {
  return signUpdate({
    bundle,
    out,
    key: await readPrivateKey(key),
    madeAt: new Date(date * 1000).toISOString(),
    changes: changes === undefined ? [] : await readChanges(changes),
    updatesFrom: from,
  })
}

async function main(): Promise<void> {
  const { what, suite, formats, out, ...signing } = asked(process.argv.slice(2))
  if (what === 'help') return console.log(USAGE)
  const began = performance.now()
  const date = sourceDate(process.env.SOURCE_DATE_EPOCH)
  const say = (line: string): void =>
    console.log(`${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${line}`)
  if (what === 'image') {
    need(TOOLS)
    if (process.getuid?.() !== 0) throw new Stop('An image needs root: its files belong to several users.')
  }
  if (what === 'test') return testImage(out, signing.key)
  if ((what === 'key' || what === 'update') && signing.key === undefined) throw new Stop(`--key FILE names the key.`)
  if (what === 'key')
    return say(
      `${signing.key}: keep it secret, and keep a copy. GATEHOUSE_RELEASE_KEY is\n${await makeKey(signing.key ?? '')}`,
    )
  const releaseKey = readReleaseKey(process.env.GATEHOUSE_RELEASE_KEY)
  say('The bundle ...')
  const bundle = makeBundle({ out, date, releaseKey })
  const cache = join(ROOT, '.cache', 'appliance')
  const made =
    what === 'update'
      ? [await updateOf(bundle, out, date, signing)]
      : what === 'bundle'
        ? [bundle]
        : [bundle, ...(await buildImage({ suite, bundle, out, cache, date, formats, say }))]
  for (const file of made) say(`${(statSync(file).size / 1e6).toFixed(1).padStart(8)} MB  ${basename(file)}`)
}

await main().catch((error: unknown) => {
  const isOurs =
    error instanceof Stop ||
    error instanceof SignRefused ||
    (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS') === true
  console.error(isOurs ? `${(error as Error).message}\n\n${USAGE}` : error)
  process.exitCode = 1
})
