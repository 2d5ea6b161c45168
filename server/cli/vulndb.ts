import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import * as openpgp from 'openpgp'
import { DEFAULT_DISTRIBUTIONS } from '../core/default-distributions.ts'
import { createRepositories } from '../core/repository.ts'
import { EnvProblems, readEnv, type Env } from '../env.ts'
import { readDefinitions } from '../files/definitions.ts'
import { createLayout, type Layout } from '../files/layout.ts'
import { keepSecret } from '../files/secrets.ts'
import { FORMATS, getFormat } from '../formats/index.ts'
import { treeFolders } from '../formats/tree-folders.ts'
import { systemClock } from '../lib/clock.ts'
import { createSecretBox } from '../lib/secret-box.ts'
import { BUNDLE_LIMITS, packBundle, type BundleInput } from '../vulndb/read/bundle.ts'
import { distributionCoverage, languageCoverage, NO_DATA } from '../vulndb/match/coverage.ts'
import { createDatabase, type Database } from '../vulndb/store/database.ts'
import { collectJars, folderRepository, webRepository } from '../vulndb/java/collect-jars.ts'
import { packJarIndex } from '../vulndb/java/jar-index.ts'
import { importData } from '../vulndb/store/import.ts'
import { answerOf, resultOf } from '../vulndb/store/importer.ts'
import { CARRIED, ecosystemOf, ecosystemsOf } from '../vulndb/match/ecosystems.ts'
import type { PackageQuery } from '../vulndb/match/matching-rules.ts'
import { createOrders } from '../vulndb/versions/orders.ts'
import type { ImportFile } from '../vulndb/read/run.ts'
import { recogniseFeed } from '../vulndb/read/recognise.ts'
import { createOsvScanner, type OsvScanner } from '../scanners/osv.ts'
import { explain, type Wish } from './explain.ts'
import { createSettings, type Settings } from '../settings/store.ts'
import { listSeverities } from './vulndb-severities.ts'

const USAGE = `npm run vulndb -- status [--json]
npm run vulndb -- import FILE|FOLDER... [--force] [--distribution CODENAME]
npm run vulndb -- make FOLDER [--out vulndb-YYYYMMDD.tar] [--sign SECRET-KEY.asc] [--licence TEXT]
npm run vulndb -- jars REPOSITORY [--out jars.index]
npm run vulndb -- match < queries.ndjson
npm run vulndb -- explain PURL | NAME VERSION --distribution CODENAME [--source NAME[@VERSION]]
npm run vulndb -- severities [CODENAME...]

status  says what is loaded, of when, and how far it covers each distribution.
import  loads a bundle or files of upstreams into REPOS_ROOT, also while the service runs: it takes them up at its next scan.
make    puts the files of a folder into a bundle for a site without internet. Lay them out so:
        osv/<Ecosystem>/all.zip  debian/tracker.json  alpine/<release>/<repository>.json  updateinfo/<codename>/*.xml.gz
        nvd/nvdcve-2.0-YEAR.json.gz  csaf/*  kev/known_exploited_vulnerabilities.json  epss/epss_scores-YYYY-MM-DD.csv.gz  jars/*.index
        grype/*  trivy/*  clamav/*
        The secret key's passphrase, when it has one, is asked for in VULNDB_PASSPHRASE.
jars    asks a Maven repository (an address, or a folder in its layout) for the SHA-1 of every version of the artifacts that the loaded data
        have advisories about, and writes an index of them for make and import: it names jars that do not say what they are.
match   answers lines such as {"distribution": "bookworm", "name": "libssl3", "version": "3.0.13-1", "source": {"name": "openssl",
        "version": "3.0.13-1"}}, or with "ecosystem": "pypi" in place of the distribution, with the findings of each.
explain says why a package has its findings: what was looked up, which record names it, in data of which day, and which records do not
        concern its version.
severities  says of how many known vulnerabilities of a distribution the severity is known, and whose word it is.
`

const repositories = createRepositories(DEFAULT_DISTRIBUTIONS)
const orders = createOrders({ compare: (format, a, b) => getFormat(format).compareVersions(a, b) })

interface Opened {
  readonly env: Env
  readonly layout: Layout
  readonly settings: Settings
}

async function open(): Promise<Opened> {
  const env = readEnv(process.env, process.cwd())
  const layout = createLayout(env.reposRoot, treeFolders({ repositories, formats: FORMATS }))
  await mkdir(layout.security, { recursive: true })
  repositories.replace(await readDefinitions(layout))
  const box = createSecretBox(env.settingsKey ?? (await keepSecret(layout, 'settings')))
  return {
    env,
    layout,
    settings: await createSettings({ layout, box, production: env.production, isEnterprise: () => true }),
  }
}

/** Every file below a folder, with its path in it; or the file itself. */
async function filesAt(path: string): Promise<{ readonly path: string; readonly label: string }[]> {
  if (!(await stat(path)).isDirectory()) return [{ path, label: basename(path) }]
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  return entries
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .sort()
    .map(file => ({ path: file, label: relative(path, file) }))
}

/** The day of data, where anything says it. */
const sayDay = (at: string): string => (at === '' ? 'of a day that nothing says' : `of ${at.slice(0, 10)}`)

const plural = (n: number, one: string): string => `${n} ${n === 1 ? one : `${one}s`}`

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

async function importInto(
  { layout, settings }: Opened,
  paths: readonly string[],
  { force, distribution }: { readonly force: boolean; readonly distribution: string | undefined },
): Promise<void> {
  const files: ImportFile[] = []
  for (const path of paths) {
    const isFolder = (await stat(path)).isDirectory()
    for (const file of await filesAt(resolve(path)))
      files.push({ ...file, whole: isFolder, ...(distribution === undefined ? {} : { distribution }) })
  }
  const key = settings.now().security.bundle_key
  const result = resultOf(
    await answerOf(
      importData(
        {
          security: layout.security,
          files,
          force,
          key,
          now: systemClock.now().toISOString(),
          ecosystems: ecosystemsOf(repositories),
        },
        orders,
      ),
    ),
  )
  for (const { name, records, rows, as_of: asOf, skipped } of result.sources) {
    const left = Object.entries(skipped)
      .map(([why, count]) => `${count} ${why}`)
      .join(', ')
    say(
      `${name}: ${plural(records, 'record')}, ${plural(rows, 'statement')}, ${sayDay(asOf)}${left === '' ? '' : `; left out: ${left}`}`,
    )
  }
  result.notes.forEach(say)
  for (const { kind, path } of result.others) say(`for ${kind}: ${path}`)
  say(
    result.status === 'unchanged'
      ? `Nothing new: generation ${result.generation} stays.`
      : `Generation ${result.generation} is live after ${(result.took_ms / 1_000).toFixed(1)} s; signature: ${result.signature}.`,
  )
}

async function printStatus({ layout, settings }: Opened, asJson: boolean): Promise<void> {
  const snapshot = await createDatabase({ security: layout.security }).open()
  const { vuln_data_max_age_days: maxAgeDays } = settings.now().validation
  const distributions = repositories.all().map(distribution => ({
    distribution: distribution.codename,
    ...distributionCoverage(distribution, { meta: snapshot?.meta, now: systemClock.now(), maxAgeDays }),
  }))
  const languages = CARRIED.map(ecosystem =>
    languageCoverage(ecosystem, { meta: snapshot?.meta, now: systemClock.now(), maxAgeDays }),
  )
  if (asJson) return say(JSON.stringify({ meta: snapshot?.meta ?? null, distributions, languages }))
  say(snapshot === undefined ? NO_DATA : `Generation ${snapshot.meta.generation}, made ${snapshot.meta.created}.`)
  for (const [name, { as_of: asOf, records, rows }] of Object.entries(snapshot?.meta.sources ?? {}))
    say(`  ${name}: ${plural(records, 'record')}, ${plural(rows, 'statement')}, ${sayDay(asOf)}`)
  for (const { distribution, coverage, said } of distributions) say(`${distribution}: ${coverage}. ${said}`)
  for (const { ecosystem, coverage, said } of languages) say(`${ecosystem}: ${coverage}. ${said}`)
}

/** Signs as `gpg --detach-sign --armor` would. */
async function signer(path: string): Promise<(manifest: Buffer) => Promise<string>> {
  const read = await openpgp.readPrivateKey({ armoredKey: await readFile(path, 'utf8') })
  const passphrase = process.env.VULNDB_PASSPHRASE
  const signingKeys = read.isDecrypted()
    ? read
    : await openpgp.decryptKey({ privateKey: read, ...(passphrase === undefined ? {} : { passphrase }) })
  return async manifest =>
    openpgp.sign({ message: await openpgp.createMessage({ binary: manifest }), signingKeys, detached: true })
}

const UPSTREAM: readonly (readonly [path: RegExp, source: string, licence: string])[] = [
  [/^osv\//, 'OSV', "of each record's own database"],
  [/^debian\//, 'Debian security tracker', 'free'],
  [/^alpine\//, 'Alpine secdb', 'free'],
  [/^nvd\//, 'NVD', 'public domain'],
  [/^csaf\//, 'CSAF', "of each publisher's own"],
  [/^kev\//, 'CISA KEV', 'CC0-1.0'],
  [/^epss\//, 'FIRST EPSS', 'free to use, cite FIRST'],
  [/^jars\//, 'a Maven repository', 'names and digests'],
]
const OTHER_ENGINES = /^(grype|trivy|clamav)\//

async function make(
  folder: string,
  {
    out,
    sign,
    licence,
  }: { readonly out: string | undefined; readonly sign: string | undefined; readonly licence: string | undefined },
): Promise<void> {
  const created = systemClock.now().toISOString()
  const inputs: BundleInput[] = []
  for (const { path, label } of await filesAt(resolve(folder))) {
    const kind = OTHER_ENGINES.test(label) ? 'other' : (await recogniseFeed(path))?.kind
    if (kind === undefined || kind === 'bundle') {
      say(`left out: ${label}`)
      continue
    }
    const known = UPSTREAM.find(([pattern]) => pattern.test(label))
    const terms = licence ?? known?.[2]
    inputs.push({
      from: path,
      path: label,
      source_date: (await stat(path)).mtime.toISOString(),
      ...(known === undefined ? {} : { source: known[1] }),
      ...(terms === undefined ? {} : { licence: terms }),
    })
  }
  if (inputs.length === 0) throw new Error(`There is no vulnerability data in ${folder}.`)
  const to = out ?? `vulndb-${created.slice(0, 10).replaceAll('-', '')}.tar`
  if (existsSync(to)) throw new Error(`${to} is there already.`)
  const { files } = await packBundle(to, inputs, {
    created,
    ...(sign === undefined ? {} : { sign: await signer(sign) }),
  })
  say(
    `${to}: ${files.length} files of at most ${BUNDLE_LIMITS.maxFiles}, ${sign === undefined ? 'not signed' : 'signed'}.`,
  )
}

async function indexJars({ layout }: Opened, repository: string, out: string): Promise<void> {
  if (existsSync(out)) throw new Error(`${out} is there already.`)
  const snapshot = await createDatabase({ security: layout.security }).open()
  const names = (await snapshot?.names('maven')) ?? []
  if (names.length === 0)
    throw new Error('No advisories about Maven artifacts are loaded. Import osv/Maven/all.zip first.')
  const source = /^https?:/.test(repository) ? webRepository(repository, fetch) : folderRepository(resolve(repository))
  const rows = await collectJars([...names].sort(), source, (name, jars) => say(`${name}: ${jars} jars`))
  if (rows.length === 0) throw new Error(`${repository} has no jar of the ${names.length} artifacts.`)
  await writeFile(out, packJarIndex(rows, systemClock.now().toISOString()))
  say(
    `${out}: ${rows.length} jars of ${new Set(rows.map(({ group, artifact }) => `${group}:${artifact}`)).size} artifacts.`,
  )
}

interface QueryLine extends Partial<PackageQuery> {
  readonly distribution?: string
}

function openScanner({ layout, settings }: Opened): { readonly database: Database; readonly scanner: OsvScanner } {
  const { security } = layout
  const database = createDatabase({ security })
  const maxAgeDays = (): number => settings.now().validation.vuln_data_max_age_days
  return { database, scanner: createOsvScanner({ database, orders, clock: systemClock, maxAgeDays }) }
}

async function printSeverities(opened: Opened, codenames: readonly string[]): Promise<void> {
  const { database, scanner } = openScanner(opened)
  const snapshot = await database.open()
  if (snapshot === undefined) return say(NO_DATA)
  const asked = codenames.map(codename => {
    const found = repositories.find(codename)
    return found === undefined ? codename : ecosystemOf(found).ecosystem
  })
  const all = asked.length === 0 ? Object.keys(snapshot.meta.ecosystems).sort() : asked
  for (const ecosystem of all) (await listSeverities(ecosystem, { snapshot, scanner })).forEach(say)
}

async function printWhy(opened: Opened, wish: Wish): Promise<void> {
  const { database, scanner } = openScanner(opened)
  const known = {
    meta: (await database.open())?.meta,
    now: systemClock.now(),
    maxAgeDays: opened.settings.now().validation.vuln_data_max_age_days,
  }
  const carried = new Set<string>(CARRIED)
  const lines = await explain(wish, scanner, ecosystem =>
    carried.has(ecosystem)
      ? languageCoverage(ecosystem, known).said
      : wish.distribution === undefined
        ? undefined
        : distributionCoverage(wish.distribution, known).said,
  )
  lines.forEach(say)
}

async function match(opened: Opened): Promise<void> {
  const { scanner } = openScanner(opened)
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() === '') continue
    const { distribution, ...query } = JSON.parse(line) as QueryLine
    const found = distribution === undefined ? undefined : repositories.find(distribution)
    const ecosystem = found === undefined ? query.ecosystem : ecosystemOf(found).ecosystem
    if (ecosystem === undefined || query.name === undefined || query.version === undefined)
      throw new Error(`A query needs name, version, and distribution or ecosystem: ${line.slice(0, 200)}`)
    const [answer] = await scanner.match([{ ...query, ecosystem, name: query.name, version: query.version }])
    say(
      JSON.stringify({
        query: { ...query, ecosystem },
        findings: answer?.findings ?? [],
        unreadable: answer?.isUnreadable ?? false,
      }),
    )
  }
}

try {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: 'boolean' },
      force: { type: 'boolean' },
      distribution: { type: 'string' },
      out: { type: 'string' },
      sign: { type: 'string' },
      licence: { type: 'string' },
      source: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  const [command, ...rest] = positionals
  const first = rest[0]
  if (values.help === true) say(USAGE)
  else if (command === 'status') await printStatus(await open(), values.json === true)
  else if (command === 'import' && first !== undefined)
    await importInto(await open(), rest, { force: values.force === true, distribution: values.distribution })
  else if (command === 'make' && first !== undefined)
    await make(first, { out: values.out, sign: values.sign, licence: values.licence })
  else if (command === 'jars' && first !== undefined) await indexJars(await open(), first, values.out ?? 'jars.index')
  else if (command === 'match') await match(await open())
  else if (command === 'severities') await printSeverities(await open(), rest)
  else if (command === 'explain' && first !== undefined) {
    const opened = await open()
    const distribution = values.distribution === undefined ? undefined : repositories.find(values.distribution)
    if (values.distribution !== undefined && distribution === undefined)
      throw new Error(`There is no distribution ${values.distribution}.`)
    await printWhy(opened, { words: rest, distribution, source: values.source })
  } else {
    process.stderr.write(USAGE)
    process.exitCode = 2
  }
} catch (error) {
  process.stderr.write(
    `${error instanceof EnvProblems ? error.problems.join('\n') : error instanceof Error ? error.message : String(error)}\n`,
  )
  process.exitCode = 1
}
