import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Hub, IndexTracker, pofile, type Config } from 'wuchale'
import { pluralPattern } from 'wuchale/adapter-vanilla'
import { isServerSentence, isText } from './is-text.ts'
import { screens, scripts } from './transformers.ts'

export const ROOT = join(import.meta.dirname, '../..')
export const LOCALES = join(ROOT, 'ui/locales')
/** The German of the console, as gettext writes it. English stands in the source. */
export const GERMAN = join(LOCALES, 'de.po')
/** The German of sentences that the server says. */
export const SERVER_GERMAN = join(LOCALES, 'server', 'de.po')

type Storage = Config['adapters'][string]['storage']

/** Sorted by text, with one place each: two people who add texts do not change the same lines. */
const sortedIn =
  (dir: string): Storage =>
  async opts => {
    const file = await pofile({ dir })(opts)
    return {
      key: file.key,
      files: file.files,
      load: () => file.load(),
      save: data => {
        const said = (item: (typeof data.items)[number]): string => item.translations.get('en')?.join('\n') ?? ''
        const items = [...data.items]
          .sort((a, b) => (said(a) < said(b) ? -1 : said(a) > said(b) ? 1 : 0))
          .map(item => ({ ...item, references: firstOf(item.references) }))
        return file.save({ ...data, items })
      },
    }
  }

type References = readonly { readonly file: string; readonly refs: readonly unknown[] }[]
const firstOf = <R extends References>(references: R): R =>
  [...references]
    .sort((a, b) => (a.file < b.file ? -1 : 1))
    .slice(0, 1)
    .map(one => ({ ...one, refs: one.refs.slice(0, 1) })) as unknown as R // the same shape, shorter

const plain = { wrapInit: (use: string) => use, wrapUse: (use: string) => use }
/** The language is chosen before the first screen is made and stays: nothing has to react. */
const runtime = { useReactive: false, initReactive: () => null, plain, reactive: plain }
const setting = {
  heuristic: isText,
  patterns: [pluralPattern, { name: 'phrase', args: ['message'] }],
  runtime,
}
const common = {
  storage: sortedIn('ui/locales'),
  sourceLocale: 'en',
  runtime,
  getRuntimeVars: { plain: '_w_runtime_', reactive: '_w_runtime_mod_' }, // as the library's reader calls them
  loaderExts: ['.js'],
  defaultLoaderPath: null,
  granularLoad: false,
  bundleLoad: false,
  generateLoadID: (file: string) => file,
}

/** Where the server keeps sentences that people read. What else it says stays English. */
const SAYING = [
  'server/core/{errors,*-errors,data-age,disk*,install-facts,manifest,policy,why,access,signature-words}.ts',
  'server/core/licences/policy.ts',
  'server/pipeline/*.ts',
  'server/{catalog,publish,review,vulndb}/compose.ts',
  'server/features/*/compose.ts',
  'server/formats/{apk,deb,rpm}/index.ts',
  'server/features/disk/watch.ts',
  'server/review/bulk/work.ts',
  'server/publish/follow-keys.ts',
  'server/signing/signed-by-retired-keys.ts',
  'server/scanners/{clamd,data-warning}.ts',
  'server/backup/targets/places.ts',
  'server/vulndb/match/coverage.ts',
  'server/contents/changes.ts',
  'server/features/artifacts/changes.ts',
  'server/features/comparison/unknown.ts',
  'server/features/dashboard/alerts.ts',
  'server/features/uploads/{handlers,result,sums}.ts',
  'server/features/health/{background,health,host,machine-probes,remedies}.ts',
  'server/features/documents/documents.ts',
  'server/features/registries/notes.ts',
  'server/features/bundles/views.ts',
  'server/imports/why-not.ts',
  'server/imports/catalogue/{outcome,source-states}.ts',
  'server/imports/mirror/{bring,report}.ts',
  'server/imports/resolve/{apk,explain}.ts',
  'server/imports/run/{forecast,lack}.ts',
  'server/imports/security/{own-builds,report,updates,work}.ts',
  'server/imports/trust/{judge,key-warnings,states}.ts',
  'server/registries/{maven/settle-job,oci/collect}.ts',
  'server/inventory/{compliance,judge}.ts',
  'server/settings/*.ts',
  'server/machine/client.ts',
  // the program that looks after the machine: what it says comes through the daemon
  'appliance/machine/{ask,catalogue,medium,pem,ports,serve}.ts',
  'appliance/machine/{check,update}/*.ts',
  'appliance/machine/verbs/{acme,certificates,check,disks,network*,power,remote-log,services,time*,update}.ts',
]

const CONFIG = {
  locales: ['en', 'de'],
  localesDir: 'ui/locales',
  ai: null,
  hmr: true,
  fallback: {},
  logLevel: 'error',
  adapters: {
    screens: {
      ...common,
      files: ['ui/App.svelte', 'ui/{parts,screens,shell}/**/*.svelte'],
      transform: screens(setting),
    },
    scripts: {
      ...common,
      files: {
        include: [
          'ui/*.ts',
          'ui/{parts,screens,shell}/**/*.ts',
          'server/record/audit-sentences.ts',
          'electron/core/words.ts',
        ],
        ignore: ['**/*.test.ts', 'ui/texts.ts', 'ui/language.ts', 'ui/vite.config.ts', 'ui/compressed-copies.ts'],
      },
      transform: scripts(setting),
    },
    server: {
      ...common,
      storage: sortedIn('ui/locales/server'),
      files: { include: SAYING, ignore: ['**/*.test.ts'] },
      transform: scripts({ ...setting, heuristic: isServerSentence }),
    },
  },
} as unknown as Config // the library types what its own defaults leave out

/** What the library writes, kept in memory: the source folder stays as it is. */
export type Written = Map<string, string>

function memory(written: Written): NonNullable<Parameters<typeof Hub.create>[4]> {
  for (const name of ['screens', 'scripts', 'server']) written.set(join(LOCALES, `${name}.loader.js`), LOADER)
  return {
    read: async file => written.get(file) ?? (existsSync(file) ? readFile(file, 'utf8') : null),
    write: (file, content) => void written.set(file, content),
    mkdir: () => undefined,
    exists: file => written.has(file) || existsSync(file),
    unlink: file => written.delete(file),
  }
}
const LOADER = `export { texts as getRuntime, texts as getRuntimeRx } from '../texts.ts'`

/** Reads every text of the console's source, and its German where there is one. */
export async function readTexts(): Promise<{ readonly hub: Hub; readonly written: Written }> {
  const written: Written = new Map()
  const hub = await Hub.create('cli', () => CONFIG, ROOT, 0, memory(written))
  await hub.directVisit(true, false, false)
  return { hub, written }
}

/** For the development server: as `readTexts`, and texts that change are seen as they are typed. */
export async function watchTexts(): Promise<{ readonly hub: Hub; readonly written: Written }> {
  const { written } = await readTexts()
  return { hub: await Hub.create('dev', () => CONFIG, ROOT, 0, memory(written)), written }
}

/** The module with a language's texts. */
export const compiledOf = (language: string): string =>
  join(LOCALES, '.wuchale', `screens.screens.${language}.compiled.js`)

/** The texts of one source file, as the catalogue has them; plural forms joined by a slash. */
export async function textsOf(file: string, source: string): Promise<string[]> {
  const read = (file.endsWith('.svelte') ? screens : scripts)(setting)
  const expr = { plain: '', reactive: '' }
  const { msgs } = await read({
    content: source,
    filename: file,
    index: new IndexTracker(),
    expr,
    matchUrl: () => null,
  })
  return msgs.map(({ msgStr }) => msgStr.join(' / '))
}
