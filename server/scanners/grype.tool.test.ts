import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { referencePath } from '../../test/support/reference-data.ts'
import { stubEngine, type StubScan } from '../../test/support/stub-engine.ts'
import { findProgram } from '../../test/support/tools.ts'
import { SEVERITIES } from '../core/findings.ts'
import { getDistribution } from '../../test/support/repositories.ts'
import { runTool, type Exec } from '../lib/exec.ts'
import { createGrype, readDbStatus, sortMatches } from './grype.ts'
import { grypeFindings, nameFindings, readGrype } from './grype-output.ts'
import { EngineUnavailable, type ScanSubject } from './scanner.ts'

let root: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'gh-grype-'))
})
afterAll(() => rm(root, { recursive: true, force: true }))

const about = { summary: '', description: '', depends: [], provides: [], conflicts: [] }
const DEB: ScanSubject = {
  identity: { format: 'deb', name: 'libssl3', version: '3.0.20-1~deb12u2', arch: 'amd64' },
  about: { ...about, source: 'openssl', source_version: '3.0.20-1~deb12u2' },
  distribution: getDistribution('bookworm'),
  purl: 'pkg:deb/debian/libssl3@3.0.20-1~deb12u2?arch=amd64&distro=bookworm',
  inner: () => {
    throw new Error('nothing is unpacked')
  },
}
const RPM: ScanSubject = {
  identity: { format: 'rpm', name: 'postgresql-server', version: '1:13.5-1.module_el8', arch: 'x86_64' },
  about: { ...about, source: 'postgresql', source_version: '13.5-1.module_el8' },
  facts: { sourcerpm: 'postgresql-13.5-1.module_el8.src.rpm', modularity: 'postgresql:13:8060020220124:ad008a3a' },
  distribution: getDistribution('almalinux8'),
  purl: 'pkg:rpm/almalinux/postgresql-server@13.5-1.module_el8?arch=x86_64&distro=almalinux-8&epoch=1',
  inner: DEB.inner,
}

// written by hand after the shapes of 0.74 to 0.116
const match = (
  id: string,
  more: object = {},
  artifact: object = { name: 'libssl3', version: '3.0.20-1~deb12u2', type: 'deb', upstreams: [{ name: 'openssl' }] },
): object => ({
  vulnerability: {
    id,
    dataSource: `https://security-tracker.debian.org/tracker/${id}`,
    namespace: 'debian:distro:debian:12',
    severity: 'High',
    urls: [],
    cvss: [],
    fix: { versions: ['3.0.22-1~deb12u2'], state: 'fixed' },
    advisories: [],
    ...more,
  },
  relatedVulnerabilities: [],
  matchDetails: [],
  artifact,
})
const CONTROL = match('CVE-2023-1', {}, { name: 'curl', version: '0.0.1-1', type: 'deb' })
const report = (...matches: object[]): string =>
  JSON.stringify({
    matches,
    source: {},
    distro: { name: 'debian', version: '12' },
    descriptor: { name: 'grype', version: '0.116.0' },
  })
const DB = {
  print: '{"schemaVersion":"v6.1.9","from":"manual import","built":"2026-11-20T06:00:00Z","path":"/x","valid":true}',
}

let n = 0
async function engine(
  scan: StubScan,
  more: {
    db?: { print: string; exit?: number }
    pin?: string
    searchPath?: string
    exec?: Exec
    version?: string
    enabled?: boolean
  } = {},
) {
  const folder = join(root, `stub-${n++}`)
  const work = join(folder, 'work')
  const databaseFolder = join(folder, 'grype-db')
  await stubEngine(folder, {
    name: 'grype',
    version: more.version ?? '{"application":"grype","version":"0.116.0"}',
    db: more.db ?? DB,
    scan,
  })
  const grype = createGrype({
    exec: more.exec ?? runTool,
    enabled: () => more.enabled ?? true,
    searchPath: more.searchPath ?? `relative:/nowhere:${folder}`,
    pin: () => more.pin ?? '',
    databaseFolder,
    workFolder: work,
    clock: { now: () => new Date('2026-11-21T08:00:00Z') },
    maxAgeDays: () => 14,
  })
  return {
    grype,
    folder,
    work,
    databaseFolder,
    scan: (subject = DEB, signal = new AbortController().signal) => grype.scan(subject, signal),
  }
}
const failureOf = (run: Promise<unknown>): Promise<string> =>
  run.then(
    () => 'answered',
    (error: unknown) =>
      error instanceof EngineUnavailable ? error.message : `not an EngineUnavailable: ${String(error)}`,
  )

describe('what grype is asked', () => {
  test('one file with our package URL and the control, nothing to fetch, no configuration, no variable of ours', async () => {
    const { scan, folder, work, databaseFolder } = await engine({ print: report(CONTROL) })
    await scan()
    expect(await readFile(join(folder, 'input'), 'utf8')).toBe(
      [
        'pkg:deb/debian/libssl3@3.0.20-1~deb12u2?arch=amd64&distro=debian-12&upstream=openssl%403.0.20-1~deb12u2',
        'pkg:deb/debian/curl@0.0.1-1?arch=amd64&distro=debian-12&upstream=curl%400.0.1-1',
        '',
      ].join('\n'),
    )
    const [versionCall = '', statusCall = '', scanCall = ''] = (await readFile(join(folder, 'calls'), 'utf8')).split(
      '\n\n',
    )
    expect([versionCall, statusCall].map(call => call.split('\n')[0])).toEqual(['version -o json', 'db status -o json'])
    const [args = '', ...lines] = scanCall.split('\n')
    expect(args).toMatch(/^purl:\S+\/packages\.txt -o json --distro debian-12$/)
    expect(args).not.toContain('fail-on')
    const at = lines.findIndex(line => line.startsWith('/'))
    const names = lines
      .slice(0, at)
      .map(line => line.split('=')[0])
      .filter(name => name !== 'PWD' && name !== '_' && name !== 'OLDPWD' && name !== 'SHLVL')
    expect(names).toEqual([
      'GRYPE_CHECK_FOR_APP_UPDATE',
      'GRYPE_DB_AUTO_UPDATE',
      'GRYPE_DB_CACHE_DIR',
      'GRYPE_DB_REQUIRE_UPDATE_CHECK',
      'GRYPE_DB_VALIDATE_AGE',
      'HOME',
      'LC_ALL',
      'NO_COLOR',
      'PATH',
      'TMPDIR',
    ])
    expect(lines).toContain(`GRYPE_DB_CACHE_DIR=${databaseFolder}`)
    expect(lines.filter(line => /^GRYPE_(?!DB_CACHE_DIR)/.test(line)).every(line => line.endsWith('=false'))).toBe(true)
    expect(lines.slice(at + 1)).toEqual(['packages.txt']) // its working folder, which is HOME too, holds nothing else
    expect(await readdir(work)).toEqual([]) // and is gone
  })
  test('an RPM with epoch, source package and module', async () => {
    const { scan, folder } = await engine({ print: report(CONTROL) })
    await scan(RPM)
    expect((await readFile(join(folder, 'input'), 'utf8')).split('\n')).toEqual([
      'pkg:rpm/almalinux/postgresql-server@13.5-1.module_el8?arch=x86_64&distro=almalinux-8&epoch=1&rpmmod=postgresql:13:8060020220124:ad008a3a&upstream=postgresql-13.5-1.module_el8.src.rpm',
      'pkg:rpm/almalinux/curl@0.0.1-1?arch=x86_64&distro=almalinux-8&upstream=curl-0.0.1-1.src.rpm',
      '',
    ])
  })
})

describe('what its answer means', () => {
  test('findings with their source, and which program said so', async () => {
    const { scan, folder } = await engine({
      print: report(
        CONTROL,
        match('CVE-2026-1', {
          epss: [{ cve: 'CVE-2026-1', epss: 0.2, percentile: 0.9 }],
          knownExploited: [{ cve: 'CVE-2026-1', dueDate: '2026-12-01T00:00:00Z' }],
        }),
      ),
    })
    const { findings, ...answer } = await scan()
    expect(answer).toEqual({
      coverage: 'covered',
      data_at: '2026-11-20T06:00:00.000Z',
      said: 'grype 0.116.0 covers Debian 12.',
      binary: { path: join(folder, 'grype'), version: '0.116.0', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    })
    expect(findings).toEqual([
      {
        id: 'CVE-2026-1',
        package: 'libssl3',
        severity: 'high',
        detected_by: ['grype'],
        fixed_in: '3.0.22-1~deb12u2',
        references: ['https://security-tracker.debian.org/tracker/CVE-2026-1'],
        epss: 0.2,
        epss_percentile: 0.9,
        kev: true,
        kev_due: '2026-12-01',
        matched: { ecosystem: 'debian:distro:debian:12', name: 'openssl', version: '3.0.20-1~deb12u2' },
      },
    ])
  })
  test('no findings mean clean only when the control was found', async () => {
    expect(await (await engine({ print: report(CONTROL) })).scan()).toMatchObject({ coverage: 'covered', findings: [] })
    expect(await (await engine({ print: report() })).scan()).toMatchObject({
      coverage: 'not_covered',
      findings: [],
      said: expect.stringContaining('says nothing'),
    })
  })
  test('findings count also when the control was not found', async () => {
    expect(await (await engine({ print: report(match('CVE-2026-1')) })).scan()).toMatchObject({
      coverage: 'not_covered',
      findings: [{ id: 'CVE-2026-1' }],
    })
  })
  test('a distribution that it has no data for is not asked about', async () => {
    const { scan, folder } = await engine({ print: report(CONTROL) })
    expect(await scan({ ...RPM, distribution: getDistribution('opensuse-leap-15.6') })).toEqual({
      coverage: 'not_covered',
      findings: [],
      said: 'grype has no data for openSUSE Leap 15.6.',
    })
    expect(existsSync(join(folder, 'input'))).toBe(false)
    expect(await scan({ ...RPM, distribution: getDistribution('centos-stream9') })).toMatchObject({
      coverage: 'partial',
      said: expect.stringContaining('RHEL'),
    })
  })
  test.each<[string, { print: string; exit?: number }, string]>([
    ['no database', { print: '{"valid":false,"error":"database does not exist"}', exit: 1 }, 'no_data'],
    ['a status that is no JSON', { print: 'oops', exit: 1 }, 'no_data'],
    ['a status without a date', { print: '{"valid":true}' }, 'no_data'],
    ['an old database', { print: '{"built":"2026-11-01T00:00:00Z","valid":true}' }, 'stale'],
    ['a database from next year', { print: '{"built":"2027-11-01T00:00:00Z","valid":true}' }, 'no_data'],
  ])('%s is told', async (_, db, coverage) => {
    const { scan, grype } = await engine({ print: report(CONTROL) }, { db })
    expect(await scan()).toMatchObject({ coverage, findings: [] })
    expect(await grype.status()).toMatchObject({ id: 'grype', ok: false, version: '0.116.0' })
  })
  test('its status names version and date of its data', async () => {
    expect(await (await engine({ print: '' })).grype.status()).toEqual({
      id: 'grype',
      ok: true,
      version: '0.116.0',
      data_at: '2026-11-20T06:00:00.000Z',
      data_version: 'v6.1.9',
    })
  })
})

describe('an engine that fails has not answered', () => {
  const half = report(CONTROL, match('CVE-2026-1')).slice(0, -40)
  test.each<[string, StubScan, string]>([
    ['half a JSON', { print: half }, 'its answer cannot be read'],
    ['nothing at all', { print: '' }, 'its answer cannot be read'],
    ['another JSON', { print: '{"ok":true}' }, 'it is no report of grype'],
    [
      'a list of matches that are none',
      { print: '{"descriptor":{},"matches":[1]}' },
      'without vulnerability or package',
    ],
    [
      'a whole answer and exit code 1',
      { print: report(CONTROL), exit: 1, noise: 'WARN x\n\u001b[31mfailed to load vulnerability db\u001b[0m' },
      'it ended with 1: failed to load vulnerability db',
    ],
    ['exit code 2', { print: report(CONTROL), exit: 2 }, 'it ended with 2'],
    ['a crash', { does: 'crash' }, 'it was ended by SIGSEGV'],
  ])('%s', async (_, scan, why) => {
    const { scan: run, work } = await engine(scan)
    expect(await failureOf(run())).toContain(why)
    expect(await readdir(work)).toEqual([])
  })
  test('noise on standard error beside a whole answer is no failure', async () => {
    expect(
      await (await engine({ print: report(CONTROL), noise: 'WARN something\n'.repeat(5000) })).scan(),
    ).toMatchObject({ coverage: 'covered' })
  })
  test('one that prints without end is ended, and its memory is bounded', async () => {
    expect(await failureOf((await engine({ does: 'flood' })).scan())).toBe('it printed more than 67108864 bytes')
  })
  test('one that hangs is ended at its deadline', async () => {
    const impatient: Exec = (file, args, options) =>
      runTool(file, args, {
        ...options,
        deadlineMs: args[0]?.startsWith('purl:') === true ? 1_000 : options.deadlineMs,
      })
    expect(await failureOf((await engine({ does: 'hang' }, { exec: impatient })).scan())).toBe('it stood still for 1 s')
  })
  test('an uploader that leaves is no failure of the engine', async () => {
    const gone = new AbortController()
    const { scan, folder } = await engine({ does: 'hang' })
    const run = expect(scan(DEB, gone.signal)).rejects.toThrow('left')
    await expect.poll(() => existsSync(join(folder, 'input'))).toBe(true) // it has begun
    gone.abort(new Error('left'))
    await run
  })
  test('one that is another than the pinned, or does not tell its version, is present and does not answer', async () => {
    const other = await engine({ print: report(CONTROL) }, { pin: 'a'.repeat(64) })
    expect(await failureOf(other.scan())).toContain('not the pinned')
    expect([await other.grype.isPresent?.(), (await other.grype.status()).error]).toEqual([
      true,
      expect.stringContaining('not the pinned'),
    ])
    expect(existsSync(join(other.folder, 'calls'))).toBe(false)
    expect(await failureOf((await engine({ print: report(CONTROL) }, { version: 'grype 0.1' })).scan())).toContain(
      'does not tell its version',
    )
  })
  test('one that is not installed is not asked', async () => {
    const { grype } = await engine({ print: '' }, { searchPath: '/nowhere' })
    expect([await grype.isPresent?.(), await grype.status()]).toEqual([
      false,
      { id: 'grype', ok: false, error: 'It is not installed.' },
    ])
  })
  test('one that is switched off is not asked either', async () => {
    const { grype } = await engine({ print: '' }, { enabled: false })
    expect([await grype.isPresent?.(), await grype.status()]).toEqual([
      false,
      { id: 'grype', ok: false, error: 'It is switched off.' },
    ])
  })
  test('what it said of itself does not hold for another program', async () => {
    const { scan, grype, folder } = await engine({ print: report(CONTROL) })
    expect(await scan()).toMatchObject({ coverage: 'covered' })
    await stubEngine(folder, {
      name: 'grype',
      version: '{"version":"0.117.0"}',
      db: { print: '{"valid":false}', exit: 1 },
      scan: { print: report(CONTROL) },
    })
    expect([await scan(), await grype.status()]).toMatchObject([
      { coverage: 'no_data' },
      { ok: false, version: '0.117.0' },
    ])
  })
  test('nor for other data', async () => {
    const { scan, folder, databaseFolder } = await engine({ print: report(CONTROL) })
    const stub = await readFile(join(folder, 'grype'), 'utf8')
    await mkdir(join(databaseFolder, '6'), { recursive: true })
    const load = (built: string): Promise<void> =>
      writeFile(
        join(databaseFolder, '6', 'import.json'),
        `{"valid":true,"built":"${built}","from":"${'x'.repeat(built.length % 7)}"}`,
      )
    await load('2026-11-20T06:00:00Z')
    await writeFile(
      join(folder, 'grype'),
      stub.replace(`'db status')`, `'db status') cat ${databaseFolder}/6/import.json; exit;;\n'nothing here')`),
    )
    expect(await scan()).toMatchObject({ coverage: 'covered' })
    await load('2026-01-01T00:00:00.000Z')
    expect(await scan()).toMatchObject({ coverage: 'stale' })
  })
  test('one that is replaced while it is asked has not answered', async () => {
    const replaced: { folder?: string } = {}
    const { folder, scan } = await engine(
      { print: report(CONTROL) },
      {
        exec: async (file, args, options) => {
          const answer = await runTool(file, args, options)
          if (args[0] === 'db') await writeFile(join(replaced.folder ?? '', 'grype'), '#!/bin/sh\necho another\n')
          return answer
        },
      },
    )
    replaced.folder = folder
    // what answered before is gone, and what is there now does not say what it is
    expect(await failureOf(scan())).toBe('it does not tell its version')
  })
  test.each([
    ['its version', 'version'],
    ['its data', 'db'],
  ])('one that hangs when it is asked for %s is ended at its deadline', async (_, word) => {
    const { scan, grype } = await engine(
      { print: report(CONTROL) },
      {
        exec: (file, args, options) =>
          args[0] === word
            ? runTool('/bin/sleep', ['1000'], { ...options, deadlineMs: 100 })
            : runTool(file, args, options),
      },
    )
    expect(await failureOf(scan())).toBe('it stood still for 0 s')
    expect(await grype.status()).toMatchObject({ ok: false, error: 'it stood still for 0 s.' })
  })
  test('the right pin is accepted', async () => {
    const { folder } = await engine({ print: report(CONTROL) })
    const pin = execFileSync('sha256sum', [join(folder, 'grype')])
      .toString()
      .slice(0, 64)
      .toUpperCase()
    const pinned = await engine({ print: report(CONTROL) }, { searchPath: folder, pin })
    expect(await pinned.scan()).toMatchObject({ coverage: 'covered', binary: { sha256: pin.toLowerCase() } })
  })
})

describe('names and severities', () => {
  const one = (id: string, more: object, related: object[] = []) =>
    grypeFindings(readGrype(report({ ...match(id, more), relatedVulnerabilities: related })).matches[0]!, 'p')
  test.each<[string, string[], string[]]>([
    ['CVE-2026-1', ['CVE-2026-1'], ['CVE-2026-1 |']],
    ['GHSA-a', ['CVE-2026-1'], ['CVE-2026-1 GHSA-a|']],
    ['GHSA-a', [], ['GHSA-a |']],
    ['ELSA-1', ['CVE-2026-2', 'CVE-2026-1', 'CVE-2026-2'], ['CVE-2026-1 |ELSA-1', 'CVE-2026-2 |ELSA-1']],
  ])('%s with %j', (id, related, names) => {
    expect(
      nameFindings(id, related).map(
        ({ id: name, aliases = [], advisories = [] }) => `${name} ${aliases.join(',')}|${advisories.join(',')}`,
      ),
    ).toEqual(names)
  })
  test.each<[object, object[], string]>([
    [{ severity: 'Negligible' }, [], 'negligible'],
    [{ severity: 'Unknown', cvss: [{ version: '3.1', vector: 'v', metrics: { baseScore: 9.1 } }] }, [], 'critical'],
    [{ severity: undefined }, [{ id: 'CVE-1', severity: 'Medium' }], 'medium'],
    [{ severity: undefined }, [], 'unknown'],
    [{ severity: 'Low', cvss: [{ version: '3.1', vector: 'v', metrics: { baseScore: 9.1 } }] }, [], 'low'],
  ])('severity of %j with %j is %s', (more, related, severity) =>
    expect(one('CVE-2026-1', more, related)[0]?.severity).toBe(severity),
  )
  test('a fix counts only when grype says that it is one; the newest kind of score is taken', () => {
    const cvss = ['2.0', '3.1', '4.0', '9'].map(version => ({ version, vector: version, metrics: { baseScore: 5 } }))
    expect(one('CVE-2026-1', { fix: { versions: ['1'], state: 'wont-fix' }, cvss })[0]).toMatchObject({
      cvss: { version: '4.0', score: 5 },
    })
    expect(one('CVE-2026-1', { fix: { versions: ['1'], state: 'wont-fix' } })[0]?.fixed_in).toBeUndefined()
  })
  test('a broken status is no data, also with an error that is an object', () => {
    expect(readDbStatus('{"valid":false,"error":{}}', 'x\ny')).toEqual({ missing: 'It has no usable database: y.' })
  })
})

const RECORDED = referencePath('engine-output/grype')
describe.skipIf(!existsSync(RECORDED))(
  'recorded outputs of grype 0.7 to 0.96 (skipped where they are not beside the repository)',
  () => {
    test.each(existsSync(RECORDED) ? readdirSync(RECORDED).filter(name => name.endsWith('.json')) : [])('%s', name => {
      const text = readFileSync(join(RECORDED, name), 'utf8')
      const document = readGrype(text)
      const raw = (JSON.parse(text) as { matches: unknown[] | null }).matches ?? []
      expect(document.matches).toHaveLength(raw.length)
      const findings = document.matches.map(one => grypeFindings(one, one.artifact.name))
      for (const finding of findings.flat()) {
        expect(SEVERITIES).toContain(finding.severity)
        expect(finding.id).not.toBe('')
        expect(finding.detected_by).toEqual(['grype'])
        if (finding.epss !== undefined) expect(finding.epss).toBeLessThanOrEqual(1)
        expect(JSON.stringify(finding)).not.toContain('undefined')
      }
      expect(findings.every(list => list.length > 0)).toBe(true)
      expect(sortMatches(document, '0.0.1-1').isProven).toBe(false)
      expect(() => readGrype(text.slice(0, Math.floor(text.length * 0.9)))).toThrow()
    })
  },
)

const INSTALLED = findProgram('grype')
describe.skipIf(INSTALLED === undefined)('the real grype (skipped where it is not installed)', () => {
  test('tells its version, and answers or says that it has no database', async () => {
    const { grype, scan } = await engine({ print: '' }, { searchPath: join(INSTALLED ?? '', '..') })
    expect(await grype.status()).toMatchObject({ id: 'grype', version: expect.stringMatching(/^\d+\.\d+/) })
    expect(['covered', 'partial', 'no_data', 'stale']).toContain((await scan()).coverage)
    await writeFile(join(root, 'done'), '')
  })
})
