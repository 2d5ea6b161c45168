import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { existsSync, readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { bind } from '../../server/core/contract.ts'
import type { Finding } from '../../server/core/findings.ts'
import type { Codename } from '../../server/core/identity.ts'
import { parsePurl } from '../../server/core/purl.ts'
import { sbom } from '../../server/features/sbom/contract.ts'
import { sbomHandlers } from '../../server/features/sbom/handlers.ts'
import { composeContents } from '../../server/contents/compose.ts'
import { NO_NAMES } from '../../server/contents/java/coordinates.ts'
import { getFormat } from '../../server/formats/index.ts'
import { createPool } from '../../server/files/pool.ts'
import { createBills } from '../../server/sbom/bills.ts'
import { referencePath } from '../support/reference-data.ts'
import { startApp } from '../support/app.ts'
import { buildDeb } from '../support/packages.ts'
import { codeOf, createCaller } from '../support/routes.ts'
import { createStock, someone, type Item, type Stock } from '../support/test-catalog.ts'
import { repositories } from '../support/repositories.ts'
import { judge } from '../support/review-change.ts'
import { ALL_SEEING } from '../../server/core/viewer.ts'

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- documents are looked at as they are
type Json = Record<string, any>

let stock: Stock
let call: ReturnType<typeof createCaller<typeof sbom, Parameters<(typeof sbomHandlers)['GET /sbom/export']>[0]>>['call']
const deps = () => {
  const { db, clock, layout } = stock
  const contents = composeContents({
    layout,
    pool: createPool({ layout, clock }),
    version: 'test',
    settings: { now: () => ({ validation: { contents_cpu_seconds: 120 } }) },
    javaNames: async () => NO_NAMES,
  })
  return {
    db,
    bills: createBills({ db, clock, contents, formats: getFormat, repositories, tool: '1.2.3' }),
    repositories,
  }
}
beforeAll(async () => {
  stock = await createStock()
  ;({ call } = createCaller(sbom, sbomHandlers, deps))
})
afterAll(() => stock.close())
beforeEach(() => stock.clear())

const raw = async (
  key: keyof typeof sbom,
  query: Record<string, unknown> = {},
  params: Record<string, string> = {},
): Promise<string> => {
  const { body } = await call(key, { query, params })
  return text(body as never)
}
const document = async (...args: Parameters<typeof raw>): Promise<Json> => JSON.parse(await raw(...args)) as Json

/** What is wrong by the official CycloneDX 1.5 schema, in strict mode. */
async function cyclonedxErrors(written: string): Promise<unknown> {
  return await new Validation.JsonStrictValidator(Spec.Version.v1dot5).validate(written)
}

// the official schema is not in the repository; where it is not beside it, its rules that matter are checked by hand
// below
const SPDX_SCHEMA = referencePath('vuln/schemas/spdx-2.3.schema.json')
function spdxErrors(written: string): unknown {
  const ajv = new Ajv({ strict: false, allErrors: true })
  addFormats.default(ajv)
  const validate = ajv.compile(JSON.parse(readFileSync(SPDX_SCHEMA, 'utf8')) as object)
  return validate(JSON.parse(written)) ? null : validate.errors
}

/**
 * Rules of SPDX 2.3 that its schema does not say: every reference leads somewhere, identifiers are spelt right,
 * licences are named.
 */
function spdxStructure({
  packages,
  relationships,
  hasExtractedLicensingInfos = [],
  creationInfo,
  ...head
}: Json): string[] {
  const problems: string[] = []
  const ids = new Set<string>(['SPDXRef-DOCUMENT', ...packages.map(({ SPDXID }: Json) => SPDXID as string)])
  if (ids.size !== packages.length + 1) problems.push('an SPDXID is there twice')
  for (const id of ids) if (!/^SPDXRef-[A-Za-z0-9.-]+$/.test(id)) problems.push(`${id} is no SPDXID`)
  for (const { spdxElementId, relatedSpdxElement } of relationships)
    if (!ids.has(spdxElementId) || !ids.has(relatedSpdxElement)) problems.push('a relationship leads nowhere')
  const named = new Set(hasExtractedLicensingInfos.map(({ licenseId }: Json) => licenseId as string))
  for (const { licenseDeclared } of packages)
    for (const ref of (licenseDeclared as string).match(/LicenseRef-[\w.-]+/g) ?? [])
      if (!named.has(ref)) problems.push(`${ref} is not extracted`)
  if (
    head.spdxVersion !== 'SPDX-2.3' ||
    head.dataLicense !== 'CC0-1.0' ||
    !/^https:\/\/[^#]+$/.test(head.documentNamespace)
  )
    problems.push('the head')
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(creationInfo.created)) problems.push('created')
  const described = relationships.filter(({ relationshipType }: Json) => relationshipType === 'DESCRIBES').length
  if (packages.length > 0 && described === 0) problems.push('nothing is described')
  return problems
}

const finding = (id: string, more: Partial<Finding> = {}): Finding => ({
  id,
  package: 'hello',
  severity: 'high',
  detected_by: ['osv'],
  ...more,
})
const FULL: Item = {
  name: 'hello',
  version: '1:2.0~rc1+b1',
  findings: [
    finding('CVE-2026-1', {
      aliases: ['GHSA-aaaa-bbbb-cccc'],
      fixed_in: '1:2.0',
      summary: 'A "hole"',
      epss: 0.5,
      kev: true,
      cvss: { version: '3.1', vector: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H', score: 9.8 },
      references: ['https://example.test/a', 'not a url'],
    }),
    finding('DSA-1 x', { severity: 'negligible' }),
    finding('CVE-2026-2', { severity: 'unknown', detected_by: ['grype', 'trivy'] }),
  ],
}

describe('a document of one package', () => {
  test('CycloneDX 1.5 is valid by the official schema and names package, digests, findings and their source', async () => {
    await stock.put(FULL)
    const written = await raw('GET /sbom/{name}/{version}', {}, { name: 'hello', version: '1:2.0~rc1+b1' })
    expect(await cyclonedxErrors(written)).toBeNull()
    const { metadata, components, vulnerabilities, ...head } = JSON.parse(written) as Json
    expect(head).toMatchObject({
      bomFormat: 'CycloneDX',
      specVersion: '1.5',
      version: 1,
      serialNumber: expect.stringMatching(
        /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      ),
    })
    expect(metadata).toMatchObject({
      timestamp: '2026-03-01T10:00:00.000Z',
      component: { name: 'hello', version: '1:2.0~rc1+b1' },
    })
    expect(components).toHaveLength(1)
    expect(parsePurl(components[0].purl)).toMatchObject({
      type: 'deb',
      namespace: 'ubuntu',
      name: 'hello',
      version: '1:2.0~rc1+b1',
      qualifiers: { arch: 'amd64' },
    })
    expect(components[0].hashes[0]).toEqual({ alg: 'SHA-256', content: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(vulnerabilities).toMatchObject([
      {
        id: 'CVE-2026-1',
        source: { name: 'NVD' },
        ratings: [{ severity: 'high', score: 9.8, method: 'CVSSv31' }],
        analysis: { state: 'in_triage' },
        recommendation: 'Upgrade to 1:2.0.',
        advisories: [{ url: 'https://example.test/a' }],
        references: [{ id: 'GHSA-aaaa-bbbb-cccc' }],
        affects: [{ ref: components[0].purl, versions: [{ version: '1:2.0~rc1+b1' }] }],
      },
      { id: 'DSA-1 x', ratings: [{ severity: 'info' }] },
      { id: 'CVE-2026-2', ratings: [{ severity: 'unknown', source: { name: 'grype, trivy' } }] },
    ])
  })

  test('SPDX 2.3 is sound, its licences and references lead somewhere', async () => {
    await stock.put(FULL)
    const spdx = await document(
      'GET /sbom/{name}/{version}',
      { format: 'spdx' },
      { name: 'hello', version: '1:2.0~rc1+b1' },
    )
    expect(spdxStructure(spdx)).toEqual([])
    expect(spdx.packages).toMatchObject([
      {
        name: 'hello',
        versionInfo: '1:2.0~rc1+b1',
        filesAnalyzed: false,
        externalRefs: [
          { referenceType: 'purl' },
          { referenceCategory: 'SECURITY', comment: 'CVE-2026-1, high' },
          {},
          {},
        ],
      },
    ])
  })

  test.skipIf(!existsSync(SPDX_SCHEMA))(
    'SPDX 2.3 is valid by the official schema (skipped where it is not beside the repository)',
    async () => {
      await stock.put(FULL)
      await stock.put({ name: 'other' })
      expect(
        spdxErrors(
          await raw('GET /sbom/{name}/{version}', { format: 'spdx' }, { name: 'hello', version: '1:2.0~rc1+b1' }),
        ),
      ).toBeNull()
      expect(spdxErrors(await raw('GET /sbom/export', { format: 'spdx' }))).toBeNull()
    },
  )

  test('both validators refuse a broken document', async () => {
    await stock.put(FULL)
    const params = { name: 'hello', version: '1:2.0~rc1+b1' }
    const cyclonedx = await document('GET /sbom/{name}/{version}', {}, params)
    expect(
      await cyclonedxErrors(JSON.stringify({ ...cyclonedx, vulnerabilities: [{ analysis: { state: 'fine' } }] })),
    ).not.toBeNull()
    const spdx = await document('GET /sbom/{name}/{version}', { format: 'spdx' }, params)
    expect(
      spdxStructure({
        ...spdx,
        relationships: [
          { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: 'SPDXRef-x' },
        ],
      }),
    ).not.toEqual([])
    if (existsSync(SPDX_SCHEMA))
      expect(spdxErrors(JSON.stringify({ ...spdx, packages: [{ name: 'x' }] }))).not.toBeNull()
  })

  test('what it carries is in both, nested and contained', async () => {
    const bytes = await buildDeb({
      name: 'app',
      version: '1.0',
      files: {
        'opt/app/package-lock.json': JSON.stringify({
          packages: { 'node_modules/lodash': { version: '4.17.20' } },
        }),
        'opt/app/node_modules/@a/b/package.json': '{"name":"@a/b","version":"1.0.0"}',
        'opt/app/x.jar': 'broken',
      },
    })
    await stock.put({
      name: 'app',
      bytes: bytes as never,
      findings: [finding('CVE-2021-23337', { package: 'pkg:npm/lodash@4.17.20' })],
    })
    const written = await raw('GET /sbom/{name}/{version}', {}, { name: 'app', version: '1.0' })
    expect(await cyclonedxErrors(written)).toBeNull()
    const {
      components: [app],
      vulnerabilities: [vulnerability],
      compositions,
    } = JSON.parse(written) as Json
    expect(app.components).toMatchObject([
      {
        purl: 'pkg:npm/%40a/b@1.0.0',
        group: '@a',
        name: 'b',
        scope: 'required',
        evidence: { occurrences: [{ location: 'opt/app/node_modules/@a/b/package.json' }] },
        properties: [
          { name: 'gatehouse:presence', value: 'shipped' },
          { name: 'gatehouse:rule', value: 'npm-package-json' },
          { name: 'gatehouse:confidence', value: 'certain' },
        ],
      },
      { purl: 'pkg:npm/lodash@4.17.20', name: 'lodash', scope: 'optional' },
      {
        type: 'file',
        name: 'opt/app/x.jar',
        description: 'It could not be read to its end: it is no zip, whatever its name says.',
        properties: [{ name: 'gatehouse:unopened' }, { name: 'gatehouse:size', value: '6' }],
      },
    ])
    expect(vulnerability.affects).toEqual([
      { ref: app.components[1]['bom-ref'], versions: [{ version: '4.17.20', status: 'affected' }] },
    ])
    expect(compositions).toEqual([{ aggregate: 'incomplete', assemblies: [app.purl] }])
    const spdx = await document('GET /sbom/{name}/{version}', { format: 'spdx' }, { name: 'app', version: '1.0' })
    expect(spdxStructure(spdx)).toEqual([])
    expect(spdx.packages.map(({ name }: Json) => name as string)).toEqual(['app', '@a/b', 'lodash', 'opt/app/x.jar'])
    expect(spdx.relationships.map(({ relationshipType }: Json) => relationshipType as string)).toEqual([
      'DESCRIBES',
      'CONTAINS',
      'DEPENDS_ON',
      'CONTAINS',
    ])
    expect(spdx.packages[3]).toMatchObject({ primaryPackagePurpose: 'FILE', sourceInfo: '6 bytes, not opened' })
  })

  test('a version that is in two distributions: the published one, or the one that is asked for', async () => {
    await stock.put({ codename: 'focal', state: 'pending_review' })
    await stock.put({ codename: 'jammy' })
    const params = { name: 'hello', version: '1.0' }
    const codename = async (query: Record<string, unknown>): Promise<unknown> =>
      (await document('GET /sbom/{name}/{version}', query, params)).components[0].properties.find(
        ({ name }: Json) => name === 'gatehouse:distribution',
      ).value
    expect(await codename({})).toBe('jammy')
    expect(await codename({ distribution: 'focal', arch: 'amd64' })).toBe('focal')
    expect(await codeOf(raw('GET /sbom/{name}/{version}', { arch: 'arm64' }, params))).toBe('version_not_found')
    expect(await codeOf(raw('GET /sbom/{name}/{version}', {}, { name: 'nope', version: '1.0' }))).toBe(
      'package_not_found',
    )
  })
})

describe('a document of a distribution', () => {
  test('holds what is published there and nothing else, and the same data give the same bytes', async () => {
    for (const item of [
      { name: 'b' },
      { name: 'a' },
      { name: 'a', version: '2.0' },
      { name: 'held', state: 'pending_review' },
      { name: 'bad', state: 'quarantined' },
      { name: 'other', codename: 'focal' },
    ] as const)
      await stock.put(item)
    for (const format of ['cyclonedx', 'spdx', 'openvex']) {
      const written = await raw('GET /sbom/export', { format, distribution: 'jammy' })
      stock.clock.set('2027-01-01T00:00:00Z')
      expect(await raw('GET /sbom/export', { format, distribution: 'jammy' })).toBe(written)
      stock.clock.set('2026-03-01T10:00:00Z')
    }
    const written = await raw('GET /sbom/export', { distribution: 'jammy' })
    expect(await cyclonedxErrors(written)).toBeNull()
    const names = (document: Json): string[] =>
      document.components.map(({ name, version }: Json) => `${String(name)} ${String(version)}`)
    expect(names(JSON.parse(written) as Json)).toEqual(['a 1.0', 'a 2.0', 'b 1.0'])
    expect(names(await document('GET /sbom/export'))).toEqual(['other 1.0', 'a 1.0', 'a 2.0', 'b 1.0'])
    expect(spdxStructure(await document('GET /sbom/export', { format: 'spdx' }))).toEqual([])
  })

  test('another package or another decision gives another serial number', async () => {
    await stock.put({ name: 'a' })
    const first = (await document('GET /sbom/export')).serialNumber as string
    await stock.put({ name: 'b' })
    expect((await document('GET /sbom/export')).serialNumber).not.toBe(first)
  })

  test('an empty repository has a valid document too', async () => {
    expect(await cyclonedxErrors(await raw('GET /sbom/export', { distribution: 'bookworm' }))).toBeNull()
    expect(spdxStructure(await document('GET /sbom/export', { format: 'spdx' }))).toEqual([])
    expect(await codeOf(raw('GET /sbom/export', { distribution: 'nope' }))).toBe('unknown_distribution')
  })

  test('a preview is the first few, and says how many there are', async () => {
    for (let n = 0; n < 25; n++) await stock.put({ name: `p${n}` })
    const preview = await document('GET /sbom/preview', { limit: 3 })
    expect(preview.components).toHaveLength(3)
    expect(preview.metadata.properties).toEqual([{ name: 'gatehouse:packages', value: '25' }])
    expect((await document('GET /sbom/preview')).components).toHaveLength(20)
  })

  test('it is streamed: the first bytes come before the second page of packages is read, and leaving stops the reading', async () => {
    for (let n = 0; n < 401; n++) await stock.put({ name: `p${n}` })
    let reads = 0
    const { db } = deps()
    const counted = {
      ...db,
      query: (...args: Parameters<typeof db.query>) => {
        if (args[0].includes('unnest')) reads++
        return db.query(...args)
      },
    }
    const contents = composeContents({
      layout: stock.layout,
      pool: createPool(stock),
      version: 'test',
      settings: { now: () => ({ validation: { contents_cpu_seconds: 120 } }) },
      javaNames: async () => NO_NAMES,
    })
    const bill = await createBills({
      db: counted as never,
      clock: stock.clock,
      contents,
      formats: getFormat,
      repositories,
      tool: '1',
    }).ofServed(ALL_SEEING, {})
    const read: string[] = []
    for await (const { manifest } of bill.entries()) {
      read.push(manifest.ref.name)
      if (read.length === 201) break
    }
    expect([reads, read.length]).toEqual([2, 201])
  })
})

describe('decisions are VEX', () => {
  const decided = async (decision: Json): Promise<{ cyclonedx: Json[]; openvex: Json }> => {
    await stock.put({
      findings: [finding('CVE-2026-1', { fixed_in: '2.0' }), finding('CVE-2026-2')],
      state: 'pending_review',
    })
    const ref = { format: 'deb', name: 'hello', version: '1.0', arch: 'amd64', codename: 'jammy' as Codename } as const
    await stock.catalog.change(judge(ref, decision.action as 'approve', { decision: decision as never, why: 'test' }), {
      name: 'mae',
    })
    const params = { name: 'hello', version: '1.0' }
    const written = await raw('GET /sbom/{name}/{version}', {}, params)
    expect(await cyclonedxErrors(written)).toBeNull()
    return {
      cyclonedx: (JSON.parse(written) as Json).vulnerabilities as Json[],
      openvex: await document('GET /sbom/{name}/{version}', { format: 'openvex' }, params),
    }
  }
  const said = { justification: 'Not reachable here.', by: 'mae', at: '2026-03-01T10:00:00.000Z' }

  test('an acceptance: still affected, with the reason and what could be done', async () => {
    const { cyclonedx, openvex } = await decided({
      decision: 'accept_risk',
      action: 'approve',
      covers: ['CVE-2026-1'],
      expires_at: '2026-06-01T00:00:00.000Z',
      ...said,
    })
    expect(cyclonedx.map(({ analysis }) => analysis as Json)).toEqual([
      {
        state: 'exploitable',
        response: ['will_not_fix'],
        detail: 'Not reachable here. (accept_risk by mae, 2026-03-01, until 2026-06-01)',
        firstIssued: said.at,
        lastUpdated: said.at,
      },
      { state: 'in_triage' },
    ])
    expect(openvex).toMatchObject({
      '@context': 'https://openvex.dev/ns/v0.2.0',
      'version': 1,
      'statements': [
        {
          vulnerability: { name: 'CVE-2026-1' },
          status: 'affected',
          action_statement: 'The risk is accepted. Upgrade to 2.0.',
          products: [{ identifiers: { purl: expect.stringContaining('pkg:deb/ubuntu/hello@1.0') } }],
        },
        { vulnerability: { name: 'CVE-2026-2' }, status: 'under_investigation' },
      ],
    })
  })
  test('a false positive: not affected, in the words of who said so', async () => {
    const { cyclonedx, openvex } = await decided({
      decision: 'false_positive',
      action: 'approve',
      cve: 'CVE-2026-1',
      covers: ['CVE-2026-1'],
      ...said,
    })
    expect(cyclonedx.map(({ analysis }) => analysis as Json)).toEqual([
      {
        state: 'false_positive',
        detail: 'Not reachable here. (false_positive by mae, 2026-03-01)',
        firstIssued: said.at,
        lastUpdated: said.at,
      },
      { state: 'in_triage' },
    ])
    expect(cyclonedx.map(({ affects }) => (affects as Json[])[0]?.versions as Json[])).toEqual([
      [{ version: '1.0', status: 'unaffected' }],
      [{ version: '1.0', status: 'affected' }],
    ])
    expect((openvex.statements as Json[]).map(({ status, impact_statement: why }) => [status, why])).toEqual([
      ['not_affected', 'Not reachable here. (false_positive by mae, 2026-03-01)'],
      ['under_investigation', undefined],
    ])
  })
  test('an acceptance that has ended has no effect', async () => {
    stock.clock.set('2026-07-01T00:00:00Z')
    const { cyclonedx } = await decided({
      decision: 'accept_risk',
      action: 'approve',
      covers: ['CVE-2026-1'],
      expires_at: '2026-06-01T00:00:00.000Z',
      ...said,
    })
    stock.clock.set('2026-03-01T10:00:00Z')
    expect(cyclonedx.map(({ analysis }) => (analysis as Json).state as string)).toEqual(['in_triage', 'in_triage'])
  })
  test('a refusal: upgrade where that helps', async () => {
    const { cyclonedx, openvex } = await decided({ decision: 'upgrade_required', action: 'reject', ...said })
    expect(cyclonedx.map(({ analysis }) => (analysis as Json).response as string[])).toEqual([
      ['update'],
      ['can_not_fix'],
    ])
    expect(openvex.statements.map(({ action_statement }: Json) => action_statement as string)).toEqual([
      'Do not install this version. Upgrade to 2.0.',
      'Do not install this version. No fix is known.',
    ])
  })
})

describe('over HTTP', () => {
  test('community answers 402 with the upgrade message, enterprise the document as a download', async () => {
    await stock.put()
    const routes = bind(sbom, sbomHandlers, deps())
    const authenticate = async () => someone('auditor')
    const [community, enterprise] = await Promise.all(
      (['community', 'enterprise'] as const).map(edition =>
        startApp({ routes, authenticate, enterprise: () => (edition === 'community' ? 'nothing' : 'all') }),
      ),
    )
    try {
      for (const path of ['/export', '/preview', '/hello/1.0']) {
        const answer = await community!.ask('GET', `/api/v1/sbom${path}`)
        expect([answer.status, answer.json().detail]).toMatchObject([
          402,
          { edition: 'community', feature: 'enterprise' },
        ])
      }
      const answer = await enterprise!.ask('GET', '/api/v1/sbom/hello/1.0?format=spdx')
      expect([answer.status, answer.headers['content-type'], answer.headers['content-disposition']]).toEqual([
        200,
        'application/json; charset=utf-8',
        'attachment; filename="hello-1.0.spdx.json"',
      ])
      expect(answer.json()).toMatchObject({ spdxVersion: 'SPDX-2.3' })
      expect((await enterprise!.ask('GET', '/api/v1/sbom/export?format=xml')).status).toBe(422)
      expect((await enterprise!.ask('GET', '/api/v1/sbom/preview?limit=5')).json().bomFormat).toBe('CycloneDX')
    } finally {
      await Promise.all([community!.close(), enterprise!.close()])
    }
  })
})
