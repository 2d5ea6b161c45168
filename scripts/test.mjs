// `npm test [PROJECT...] [FILE...]`: prepares a fresh clone, runs the tests, then prints `N passed, N failed, N
// skipped`. Plain JavaScript for Node 20.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildUiIfNeeded, installIfNeeded, ROOT } from './prepare.mjs'
import { runNode } from './with-node.mjs'

const PROJECTS = ['unit', 'db', 'tools', 'api', 'daemon', 'clients', 'desktop', 'ui']
// boots whole machines: after the others, which would wait for it
const MACHINES = 'appliance'
// starts a finished image under QEMU: only where `npm run appliance -- test` asks for it
const IMAGE = 'qemu'
// What runs once more on Debian's PostgreSQL: the tests of the SQL itself. Those of the API take a quarter of an hour,
// and do so only where they are asked for by name.
const AGAIN = ['db']
const AGAIN_BY_NAME = ['db', 'api']

function isDebianPackageInstalled(name) {
  const found = spawnSync('dpkg-query', ['-W', '-f', '${Status}', name], { encoding: 'utf8' })
  return found.status === 0 && found.stdout === 'install ok installed'
}

/** Debian packages that tests need and that are missing here; installed first where we may. */
function installDebianPackages() {
  const wanted = readFileSync(join(ROOT, '.ci', 'packages'), 'utf8')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '' && !line.startsWith('#'))
  if (!existsSync('/etc/debian_version')) {
    console.log(
      `This is no Debian: tests that need ${wanted.join(', ')} run where those are found, and are counted as skipped elsewhere.`,
    )
    return []
  }
  const missing = () => wanted.filter(name => !isDebianPackageInstalled(name))
  const lacking = missing()
  if (lacking.length > 0 && process.getuid() === 0 && process.env.GATEHOUSE_NO_APT !== '1') {
    console.log(`Installing with apt-get: ${lacking.join(' ')}`)
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    const apt = (...args) =>
      spawnSync('apt-get', ['-q', '-y', ...args], { stdio: ['ignore', 'ignore', 'inherit'], env }).status === 0
    apt('update')
    // a package that does not exist on this release must not keep the others away
    if (!apt('install', '--no-install-recommends', ...lacking))
      for (const name of lacking) apt('install', '--no-install-recommends', name)
  }
  return missing()
}

function hasDebianPostgres() {
  const root = '/usr/lib/postgresql'
  return existsSync(root) && readdirSync(root).some(version => existsSync(join(root, version, 'bin', 'initdb')))
}

/** Runs vitest once. Its output goes to the terminal, its report comes back. */
async function runVitest(args, folder, env) {
  const report = join(folder, 'report.json')
  rmSync(report, { force: true })
  const code = await runNode(
    [
      join(ROOT, 'node_modules', 'vitest', 'vitest.mjs'),
      'run',
      '--passWithNoTests',
      '--reporter=default',
      `--reporter=${join(ROOT, 'scripts', 'test-reporter.mjs')}`,
      ...args,
    ],
    { ...process.env, ...env, TEST_REPORT: report },
  )
  const { tests, broken } = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : { tests: [], broken: [] }
  const failed = [...tests.filter(test => test.state === 'failed'), ...broken]
  if (code !== 0 && failed.length === 0)
    failed.push({ name: `vitest ended with ${code} and named no failure`, errors: [] })
  return { tests, failed }
}

const nameOf = ({ file, name }) => (file === undefined ? name : `${file} > ${name}`)

const chosenBy = tests => [...new Set(tests.map(({ project }) => project))].flatMap(project => ['--project', project])

/**
 * Runs the chosen tests. In CI, files with a failure run once more, alone: on a shared machine a browser or a client
 * may run out of time. A test that fails twice is a failure; one that failed once is named.
 */
async function runTests(title, args, folder, env = {}) {
  console.log(`\n=== ${title}`)
  const { tests, failed } = await runVitest(args, folder, env)
  const again = failed.filter(({ file }) => file !== undefined)
  if (process.env.CI !== 'true' || failed.length === 0 || again.length < failed.length)
    return { title, tests, failed, once: [] }
  const files = [...new Set(again.map(({ file }) => file))]
  console.log(`\n=== ${title}: once more, alone: ${files.join(', ')}`)
  const second = await runVitest([...chosenBy(again), '--no-file-parallelism', ...files], folder, env)
  const isAgain = test => files.includes(test.file) && again.some(({ project }) => project === test.project)
  return {
    title,
    tests: [...tests.filter(test => !isAgain(test)), ...second.tests],
    failed: second.failed,
    once: failed.filter(test => !second.failed.some(other => nameOf(other) === nameOf(test))),
  }
}

/** Printed last, so that the end of a log is enough. */
function tellFailed(runs) {
  for (const [heading, key] of [
    ['Passed at the second try:', 'once'],
    ['Failed:', 'failed'],
  ]) {
    const found = runs.flatMap(run => run[key].map(test => ({ ...test, title: run.title })))
    if (found.length > 0) console.log(`\n${heading}`)
    for (const test of found)
      console.log(
        `  ${test.title}: ${nameOf(test)}\n${test.errors.map(error => error.replaceAll(/^/gm, '      ')).join('\n')}`,
      )
  }
}

/** Each suite that did not run, with its number of tests. Its name says what it needs. */
function tellSkipped(runs, missing) {
  const suites = new Map()
  for (const { title, tests } of runs) {
    for (const test of tests.filter(({ state }) => state === 'skipped')) {
      const suite = `${title}: ${test.file} > ${test.suite || test.name}`
      suites.set(suite, (suites.get(suite) ?? 0) + 1)
    }
  }
  if (suites.size > 0) console.log('\nSkipped:')
  for (const [suite, count] of suites) console.log(`  ${suite} (${count})`)
  if (missing.length > 0)
    console.log(`Not installed here: ${missing.join(', ')}. Install them to run what was skipped for that.`)
}

async function main() {
  const words = process.argv.slice(2)
  const projects = words.filter(word => [...PROJECTS, MACHINES, IMAGE].includes(word))
  const rest = words.filter(word => !projects.includes(word))
  const chosen = projects.length === 0 ? [...PROJECTS, MACHINES] : projects
  const others = chosen.filter(project => project !== MACHINES && project !== IMAGE)
  if (!installIfNeeded()) return { passed: 0, failed: 1, skipped: 0 }
  const missing = chosen.every(project => project === 'unit') ? [] : installDebianPackages()
  const isBuilt = await buildUiIfNeeded()
  const folder = mkdtempSync(join(tmpdir(), 'gh-report-'))
  try {
    const runs = []
    if (others.length > 0)
      runs.push(
        await runTests('embedded PostgreSQL', [...others.flatMap(project => ['--project', project]), ...rest], folder),
      )
    if (chosen.includes(MACHINES)) runs.push(await runTests('whole machines', ['--project', MACHINES, ...rest], folder))
    if (chosen.includes(IMAGE)) runs.push(await runTests('a finished image', ['--project', IMAGE, ...rest], folder))
    const again = projects.length === 0 ? AGAIN : projects.filter(project => AGAIN_BY_NAME.includes(project))
    if (again.length > 0 && hasDebianPostgres()) {
      runs.push(
        await runTests('Debian PostgreSQL', [...again.flatMap(project => ['--project', project]), ...rest], folder, {
          TEST_DATABASE: 'debian',
          CRASH_ROUNDS: process.env.CRASH_ROUNDS ?? '3',
        }),
      )
    } else if (again.length > 0) {
      console.log("\nDebian's PostgreSQL is not installed, so nothing ran a second time on it.")
    }
    tellSkipped(runs, missing)
    tellFailed(runs)
    const count = state => runs.flatMap(run => run.tests).filter(test => test.state === state).length
    return {
      passed: count('passed'),
      failed: runs.flatMap(run => run.failed).length + (isBuilt ? 0 : 1),
      skipped: count('skipped'),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const began = Date.now()
const { passed, failed, skipped } = await main()
console.log(`\nTook ${Math.round((Date.now() - began) / 1000)} s.`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
