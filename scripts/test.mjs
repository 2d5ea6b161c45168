// `npm test [PROJECT...] [FILE...]`: everything a fresh clone lacks, then every test, then `N passed, N failed, N skipped`.
// Plain JavaScript for Node 20.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { buildUiIfNeeded, installIfNeeded, ROOT } from './prepare.mjs'
import { runNode } from './with-node.mjs'

const PROJECTS = ['unit', 'db', 'tools', 'api', 'daemon', 'clients', 'ui']
// what asks the database runs once more on Debian's PostgreSQL
const ASK_DATABASE = ['db', 'api']

function isDebianPackageInstalled(name) {
  const found = spawnSync('dpkg-query', ['-W', '-f', '${Status}', name], { encoding: 'utf8' })
  return found.status === 0 && found.stdout === 'install ok installed'
}

/** Debian packages that tests drive and that are missing here; installed first where that is ours to do. */
function installDebianPackages() {
  const wanted = readFileSync(join(ROOT, '.ci', 'packages'), 'utf8').split('\n').map(line => line.trim()).filter(line => line !== '' && !line.startsWith('#'))
  if (!existsSync('/etc/debian_version')) {
    console.log(`This is no Debian: tests that need ${wanted.join(', ')} run where those are found, and are counted as skipped elsewhere.`)
    return []
  }
  const missing = () => wanted.filter(name => !isDebianPackageInstalled(name))
  const lacking = missing()
  if (lacking.length > 0 && process.getuid() === 0 && process.env.GATEHOUSE_NO_APT !== '1') {
    console.log(`Installing with apt-get: ${lacking.join(' ')}`)
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    const apt = (...args) => spawnSync('apt-get', ['-q', '-y', ...args], { stdio: ['ignore', 'ignore', 'inherit'], env }).status === 0
    apt('update')
    // one that does not exist on this release must not keep the others away
    if (!apt('install', '--no-install-recommends', ...lacking)) for (const name of lacking) apt('install', '--no-install-recommends', name)
  }
  return missing()
}

function hasDebianPostgres() {
  const root = '/usr/lib/postgresql'
  return existsSync(root) && readdirSync(root).some(version => existsSync(join(root, version, 'bin', 'initdb')))
}

/** Runs vitest once; what it says goes to the terminal, its counts come back. */
async function runVitest(title, args, folder, env = {}) {
  const report = join(folder, `${title}.json`)
  console.log(`\n=== ${title}`)
  const code = await runNode([join(ROOT, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '--passWithNoTests', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`, ...args],
    { ...process.env, ...env })
  const files = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')).testResults : undefined
  const tests = (files ?? []).flatMap(file => file.assertionResults.map(result => ({ ...result, file: relative(ROOT, file.name) })))
  const count = (...states) => tests.filter(test => states.includes(test.status)).length
  // a file that could not be loaded has no test of its own to fail
  const unloaded = (files ?? []).filter(file => file.status === 'failed' && !file.assertionResults.some(result => result.status === 'failed')).length
  const failed = count('failed') + unloaded
  return {
    title, passed: count('passed'), failed: failed === 0 && code !== 0 ? 1 : failed,
    skipped: tests.filter(test => ['skipped', 'pending', 'todo', 'disabled'].includes(test.status)),
  }
}

/** Each suite that did not run, with its number of tests. Its name says what it needs. */
function tellSkipped(runs, missing) {
  const suites = new Map()
  for (const { title, skipped } of runs) {
    for (const test of skipped) {
      const suite = `${title}: ${test.file} > ${test.ancestorTitles.filter(part => part !== '').join(' > ') || test.title}`
      suites.set(suite, (suites.get(suite) ?? 0) + 1)
    }
  }
  if (suites.size > 0) console.log('\nSkipped:')
  for (const [suite, count] of suites) console.log(`  ${suite} (${count})`)
  if (missing.length > 0) console.log(`Not installed here: ${missing.join(', ')}. Install them to run what was skipped for that.`)
}

async function main() {
  const words = process.argv.slice(2)
  const projects = words.filter(word => PROJECTS.includes(word))
  const rest = words.filter(word => !PROJECTS.includes(word))
  const chosen = projects.length === 0 ? PROJECTS : projects
  if (!installIfNeeded()) return { passed: 0, failed: 1, skipped: 0 }
  const missing = chosen.every(project => project === 'unit') ? [] : installDebianPackages()
  const isBuilt = await buildUiIfNeeded()
  const folder = mkdtempSync(join(tmpdir(), 'gh-report-'))
  try {
    const runs = [await runVitest('embedded PostgreSQL', [...chosen.flatMap(project => ['--project', project]), ...rest], folder)]
    const again = chosen.filter(project => ASK_DATABASE.includes(project))
    if (again.length > 0 && hasDebianPostgres()) {
      runs.push(await runVitest('Debian PostgreSQL', [...again.flatMap(project => ['--project', project]), ...rest], folder,
        { TEST_DATABASE: 'debian', CRASH_ROUNDS: process.env.CRASH_ROUNDS ?? '3' }))
    } else if (again.length > 0) {
      console.log('\nDebian\'s PostgreSQL is not installed, so nothing ran a second time on it.')
    }
    tellSkipped(runs, missing)
    const sum = key => runs.reduce((total, run) => total + (Array.isArray(run[key]) ? run[key].length : run[key]), 0)
    return { passed: sum('passed'), failed: sum('failed') + (isBuilt ? 0 : 1), skipped: sum('skipped') }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const began = Date.now()
const { passed, failed, skipped } = await main()
console.log(`\nTook ${Math.round((Date.now() - began) / 1000)} s.`)
process.exitCode = failed === 0 && passed > 0 ? 0 : 1
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
