import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { appendFile, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { referencePath } from '../../test/support/reference-data.ts'
import { stubEngine, type StubScan } from '../../test/support/stub-engine.ts'
import { findProgram } from '../../test/support/tools.ts'
import { getDistribution } from '../../test/support/repositories.ts'
import { SEVERITIES } from '../core/findings.ts'
import { runTool } from '../lib/exec.ts'
import { EngineUnavailable, type ScanSubject } from './scanner.ts'
import { createTrivy, readTrivyVersion, sortResults } from './trivy.ts'
import { readTrivy, trivyFindings } from './trivy-output.ts'

let root: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'gh-trivy-'))
})
afterAll(() => rm(root, { recursive: true, force: true }))

const about = { summary: '', description: '', depends: [], provides: [], conflicts: [] }
const inner: ScanSubject['inner'] = () => {
  throw new Error('nothing is unpacked')
}
const DEB: ScanSubject = {
  identity: { format: 'deb', name: 'libssl3', version: '1:3.0.20-1~deb12u2', arch: 'amd64' },
  about: { ...about, source: 'openssl', source_version: '1:3.0.20-1~deb12u2' },
  distribution: getDistribution('bookworm'),
  purl: 'pkg:deb/debian/libssl3@1:3.0.20-1~deb12u2?arch=amd64&distro=bookworm',
  inner,
}
const RPM: ScanSubject = {
  identity: { format: 'rpm', name: 'postgresql-server', version: '1:13.5-1.el8', arch: 'x86_64' },
  about: { ...about, source: 'postgresql', source_version: '13.5-1.el8' },
  facts: { sourcerpm: 'postgresql-13.5-1.el8.src.rpm', modularity: 'postgresql:13:8060:ad' },
  distribution: getDistribution('rocky8'),
  purl: 'pkg:rpm/rocky/postgresql-server@13.5-1.el8?arch=x86_64&distro=rocky-8&epoch=1',
  inner,
}
const APK: ScanSubject = {
  identity: { format: 'apk', name: 'libcrypto3', version: '3.1.4-r5', arch: 'x86_64' },
  about: { ...about, source: 'openssl', source_version: '3.1.4-r5' },
  distribution: getDistribution('alpine3.20'),
  purl: 'pkg:apk/alpine/libcrypto3@3.1.4-r5?arch=x86_64&distro=alpine-3.20&upstream=openssl',
  inner,
}

// written by hand after the shapes of 0.20 to 0.74
const vulnerability = (id: string, more: object = {}): object => ({
  VulnerabilityID: id,
  PkgName: 'libssl3',
  InstalledVersion: '1:3.0.20-1~deb12u2',
  FixedVersion: '3.0.22-1~deb12u2',
  Status: 'fixed',
  Severity: 'HIGH',
  SeveritySource: 'nvd',
  PrimaryURL: `https://avd.aquasec.com/nvd/${id.toLowerCase()}`,
  ...more,
})
const CONTROL = vulnerability('CVE-2023-1', { PkgName: 'curl', InstalledVersion: '0.0.1-1' })
const packages = [
  { Name: 'curl', Version: '0.0.1' },
  { Name: 'libssl3', Version: '3.0.20' },
]
const report = (vulnerabilities: object[], more: { packages?: object[]; os?: object; class?: string } = {}): string =>
  JSON.stringify({
    SchemaVersion: 2,
    Trivy: { Version: '0.74.0' },
    Metadata: { OS: { Family: 'debian', Name: '12', ...more.os } },
    Results: [
      {
        Target: 'x',
        Class: more.class ?? 'os-pkgs',
        Type: 'debian',
        Packages: more.packages ?? packages,
        Vulnerabilities: vulnerabilities,
      },
    ],
  })
const VERSION =
  '{"Version":"0.74.0","VulnerabilityDB":{"Version":2,"NextUpdate":"2026-11-21T00:00:00Z","UpdatedAt":"2026-11-20T06:00:00Z","DownloadedAt":"2026-11-20T07:00:00Z"}}'

let n = 0
async function engine(
  scan: StubScan,
  { version = VERSION, searchPath = '' }: { version?: string; searchPath?: string } = {},
) {
  const folder = join(root, `stub-${n++}`)
  await stubEngine(folder, { name: 'trivy', version, scan })
  const trivy = createTrivy({
    exec: runTool,
    enabled: () => true,
    searchPath: searchPath === '' ? folder : searchPath,
    pin: () => '',
    databaseFolder: join(root, 'trivy-db'),
    workFolder: join(folder, 'work'),
    clock: { now: () => new Date('2026-11-21T08:00:00Z') },
    maxAgeDays: () => 14,
  })
  return { trivy, folder, scan: (subject = DEB) => trivy.scan(subject, new AbortController().signal) }
}
const failureOf = (run: Promise<unknown>): Promise<string> =>
  run.then(
    () => 'answered',
    (error: unknown) =>
      error instanceof EngineUnavailable ? error.message : `not an EngineUnavailable: ${String(error)}`,
  )

describe('what trivy is asked', () => {
  const billOf = async (subject: ScanSubject) => {
    const { scan, folder } = await engine({ print: report([CONTROL]) })
    await scan(subject)
    const text = await readFile(join(folder, 'input'), 'utf8')
    expect(await new Validation.JsonStrictValidator(Spec.Version.v1dot5).validate(text)).toBeNull()
    const { components } = JSON.parse(text) as {
      components: {
        type: string
        name: string
        version: string
        purl?: string
        properties: { name: string; value: string }[]
      }[]
    }
    return {
      folder,
      components: components.map(({ type, name, version, purl, properties }) => [
        type,
        name,
        version,
        purl,
        Object.fromEntries(properties.map(one => [one.name.replace('aquasecurity:trivy:', ''), one.value])),
      ]),
    }
  }
  test('a deb: one operating system, the source package with its parts apart, and the control', async () => {
    const { components, folder } = await billOf(DEB)
    expect(components).toEqual([
      ['operating-system', 'debian', '12', undefined, { Type: 'debian', Class: 'os-pkgs' }],
      [
        'library',
        'libssl3',
        '1:3.0.20-1~deb12u2',
        'pkg:deb/debian/libssl3@1:3.0.20-1~deb12u2?arch=amd64&distro=debian-12',
        { PkgType: 'debian', SrcName: 'openssl', SrcVersion: '3.0.20', SrcRelease: '1~deb12u2', SrcEpoch: '1' },
      ],
      [
        'library',
        'curl',
        '0.0.1-1',
        'pkg:deb/debian/curl@0.0.1-1?arch=amd64&distro=debian-12',
        { PkgType: 'debian', SrcName: 'curl', SrcVersion: '0.0.1', SrcRelease: '1' },
      ],
    ])
    const [versionCall = '', scanCall = ''] = (await readFile(join(folder, 'calls'), 'utf8')).split('\n\n')
    expect(versionCall.split('\n')[0]).toBe(`version -f json --cache-dir ${join(root, 'trivy-db')}`)
    expect(scanCall.split('\n')[0]).toMatch(
      new RegExp(
        '^sbom --format json --scanners vuln --offline-scan --skip-db-update --skip-java-db-update --skip-version-check --disable-telemetry --no-progress ' +
          `--cache-dir ${join(root, 'trivy-db')} \\S+/bom\\.cdx\\.json$`,
      ),
    )
  })
  test('an rpm: its epoch as a qualifier, its module', async () => {
    expect((await billOf(RPM)).components[1]).toEqual([
      'library',
      'postgresql-server',
      '13.5-1.el8',
      'pkg:rpm/rocky/postgresql-server@13.5-1.el8?arch=x86_64&distro=rocky-8&epoch=1',
      {
        PkgType: 'rocky',
        SrcName: 'postgresql',
        SrcVersion: '13.5',
        SrcRelease: '1.el8',
        Modularitylabel: 'postgresql:13:8060:ad',
      },
    ])
  })
  test('an apk: its version whole', async () => {
    const { components } = await billOf(APK)
    expect(components[1]).toEqual([
      'library',
      'libcrypto3',
      '3.1.4-r5',
      'pkg:apk/alpine/libcrypto3@3.1.4-r5?arch=x86_64&distro=alpine-3.20',
      { PkgType: 'alpine', SrcName: 'openssl', SrcVersion: '3.1.4-r5' },
    ])
    expect(components[2]?.slice(0, 3)).toEqual(['library', 'curl', '0.0.1-r0'])
  })
})

describe('what its answer means', () => {
  test('findings with their score, their advisory and which program said so', async () => {
    const { scan, folder } = await engine({
      print: report([
        CONTROL,
        vulnerability('CVE-2026-1', {
          VendorIDs: ['DSA-1'],
          Title: ' a\n hole ',
          CVSS: {
            ghsa: { V3Vector: 'CVSS:3.1/x', V3Score: 5 },
            nvd: { V2Vector: 'AV:N', V2Score: 4, V3Vector: 'CVSS:3.1/y', V3Score: 7.5 },
          },
          DataSource: { ID: 'debian' },
        }),
      ]),
    })
    const { findings, ...answer } = await scan()
    expect(answer).toMatchObject({
      coverage: 'covered',
      data_at: '2026-11-20T06:00:00.000Z',
      said: 'trivy 0.74.0 covers Debian 12.',
      binary: { path: join(folder, 'trivy'), version: '0.74.0' },
    })
    expect(findings).toEqual([
      {
        id: 'CVE-2026-1',
        package: 'libssl3',
        severity: 'high',
        detected_by: ['trivy'],
        fixed_in: '3.0.22-1~deb12u2',
        summary: 'a hole',
        cvss: { version: '3.1', vector: 'CVSS:3.1/y', score: 7.5 },
        references: ['https://avd.aquasec.com/nvd/cve-2026-1'],
        advisories: ['DSA-1'],
        matched: { ecosystem: 'debian', name: 'libssl3', version: '1:3.0.20-1~deb12u2' },
      },
    ])
  })
  test.each<[string, string, string]>([
    ['ours listed and the control found', report([CONTROL]), 'covered'],
    ['the control not found', report([]), 'not_covered'],
    ['ours not listed', report([CONTROL], { packages: [{ Name: 'curl' }] }), 'not_covered'],
    ['no results at all', '{"SchemaVersion":2}', 'not_covered'],
    ['ours listed as a language package', report([CONTROL], { class: 'lang-pkgs' }), 'not_covered'],
    ['a distribution out of support', report([CONTROL], { os: { EOSL: true } }), 'partial'],
  ])('nothing about ours, %s', async (_, print, coverage) => {
    expect(await (await engine({ print })).scan()).toMatchObject({ coverage, findings: [] })
  })
  test('distributions that it does not know, or knows errata of', async () => {
    const { scan } = await engine({ print: report([CONTROL], { packages: [{ Name: 'postgresql-server' }] }) })
    for (const codename of ['fedora', 'centos-stream9'])
      expect(await scan({ ...RPM, distribution: getDistribution(codename) })).toMatchObject({
        coverage: 'not_covered',
        said: expect.stringContaining('has no data'),
      })
    expect(await scan(RPM)).toMatchObject({ coverage: 'partial' })
  })
  test('no database and an old one', async () => {
    const none = await engine({ print: report([CONTROL]) }, { version: '{"Version":"0.74.0"}' })
    expect([(await none.scan()).coverage, await none.trivy.status()]).toEqual([
      'no_data',
      { id: 'trivy', ok: false, version: '0.74.0', error: 'It has no database.' },
    ])
    expect(readTrivyVersion('{"Version":"v0.74.0","VulnerabilityDB":{"UpdatedAt":"0001-01-01T00:00:00Z"}}')).toEqual({
      version: '0.74.0',
      data: { missing: 'It has no database.' },
    })
    expect(
      (
        await (
          await engine({ print: report([CONTROL]) }, { version: VERSION.replaceAll('2026-11-20', '2026-10-20') })
        ).scan()
      ).coverage,
    ).toBe('stale')
  })
  test.each<[string, object, string]>([
    ['UNKNOWN', {}, 'unknown'],
    ['CRITICAL', {}, 'critical'],
    ['LOW', {}, 'low'],
    ['', {}, 'unknown'],
  ])('severity %s', (Severity, more, severity) =>
    expect(trivyFindings({ ...vulnerability('CVE-2026-1', more), Severity } as never, 'p')[0]?.severity).toBe(severity),
  )
  test('an advisory without a number of its own is about the CVEs of its references', () => {
    const references = [
      'https://www.suse.com/security/cve/CVE-2026-1111/',
      'https://www.suse.com/security/cve/CVE-2026-2222/',
    ]
    expect(
      trivyFindings(vulnerability('SUSE-SU-1', { References: references }) as never, 'p').map(({ id, advisories }) => [
        id,
        advisories,
      ]),
    ).toEqual([
      ['CVE-2026-1111', ['SUSE-SU-1']],
      ['CVE-2026-2222', ['SUSE-SU-1']],
    ])
  })
})

describe('an engine that fails has not answered', () => {
  test.each<[string, StubScan, string]>([
    ['half a JSON', { print: report([CONTROL]).slice(0, -9) }, 'its answer cannot be read'],
    ['a list, as before 0.20', { print: '[]' }, 'it is no report of trivy'],
    ['a vulnerability without a name', { print: report([{ PkgName: 'x' }]) }, 'without identifier or package'],
    ['exit code 1', { print: report([CONTROL]), exit: 1, noise: 'FATAL no db' }, 'it ended with 1: FATAL no db'],
    ['a crash', { does: 'crash' }, 'SIGSEGV'],
  ])('%s', async (_, scan, why) => {
    const { scan: run, folder } = await engine(scan)
    expect(await failureOf(run())).toContain(why)
    expect(await readdir(join(folder, 'work'))).toEqual([])
  })
  test.each(['0.69.4', 'v0.69.5', '0.69.6'])(
    'the malicious build %s is refused by what it says of itself',
    async version => {
      const { trivy, scan, folder } = await engine(
        { print: report([CONTROL]) },
        { version: `{"Version":"${version}"}` },
      )
      expect(await failureOf(scan())).toContain('is malicious')
      expect([await trivy.isPresent?.(), (await trivy.status()).error]).toEqual([
        true,
        expect.stringContaining('GHSA-69fq-xp46-6x23'),
      ])
      expect(existsSync(join(folder, 'input'))).toBe(false)
    },
  )
  test('and is not even started where its file says so; its neighbours are fine', async () => {
    const bad = await engine({ print: report([CONTROL]) })
    await appendFile(join(bad.folder, 'trivy'), '\n# -X github.com/aquasecurity/trivy/pkg/version/app.ver=0.69.5 \n')
    expect(await failureOf(bad.scan())).toContain('is not started')
    expect(existsSync(join(bad.folder, 'calls'))).toBe(false)
    const good = await engine({ print: report([CONTROL]) })
    await appendFile(join(good.folder, 'trivy'), '\n# -X github.com/aquasecurity/trivy/pkg/version/app.ver=0.69.3 \n')
    expect(await good.scan()).toMatchObject({ coverage: 'covered' })
  })
})

const RECORDED = referencePath('engine-output/trivy')
describe.skipIf(!existsSync(RECORDED))(
  'recorded outputs of trivy (skipped where they are not beside the repository)',
  () => {
    test.each(existsSync(RECORDED) ? readdirSync(RECORDED).filter(name => name.endsWith('.json')) : [])('%s', name => {
      const text = readFileSync(join(RECORDED, name), 'utf8')
      const { results } = readTrivy(text)
      const all = results.flatMap(({ Vulnerabilities }) => Vulnerabilities ?? [])
      for (const one of all) {
        const findings = trivyFindings(one, one.PkgName)
        expect(findings.length).toBeGreaterThan(0)
        for (const finding of findings) {
          expect(SEVERITIES).toContain(finding.severity)
          expect(finding.id).not.toBe('')
          expect(JSON.stringify(finding)).not.toContain('undefined')
        }
      }
      expect(sortResults(readTrivy(text), { name: 'libssl3', controlVersion: '0.0.1-1' }).isProven).toBe(false)
      expect(() => readTrivy(text.slice(0, Math.floor(text.length * 0.9)))).toThrow()
    })
  },
)

const INSTALLED = findProgram('trivy')
describe.skipIf(INSTALLED === undefined)('the real trivy (skipped where it is not installed)', () => {
  test('tells its version, and answers or says that it has no database', async () => {
    const { trivy, scan } = await engine({ print: '' }, { searchPath: join(INSTALLED ?? '', '..') })
    expect(await trivy.status()).toMatchObject({ id: 'trivy', version: expect.stringMatching(/^\d+\.\d+/) })
    expect(['covered', 'partial', 'no_data', 'stale']).toContain((await scan()).coverage)
  })
})
