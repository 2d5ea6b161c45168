import { describe, expect, test } from 'vitest'
import type { Codename, Sha256 } from '../../core/identity.ts'
import type { FileRow } from '../../catalog/queries/registry-files.ts'
import type { Manifest } from '../../core/manifest.ts'
import type { PypiFacts } from '../../formats/pypi/facts.ts'
import { chooseForm, HTML_TYPE, JSON_TYPE } from './accept.ts'
import { provenanceOf } from './attestations.ts'
import { describedIn, legacyJson } from './legacy-json.ts'
import { projectOf, publishedAt, simpleFileOf, type ShownFacts } from './project.ts'
import { namesPage, pageType, projectPage } from './simple.ts'

test.each([
  [undefined, 'text/html'],
  ['', 'text/html'],
  ['*/*', 'text/html'],
  ['text/html', 'text/html'],
  ['application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html; q=0.1, text/html; q=0.01', JSON_TYPE],
  ['text/html;q=0.5, application/vnd.pypi.simple.v1+html;q=0.6', HTML_TYPE],
  ['application/vnd.pypi.simple.latest+json', JSON_TYPE],
  ['application/vnd.pypi.simple.v1+json;q=0, text/html', 'text/html'],
  ['image/png', undefined],
  ['application/vnd.pypi.simple.v2+json', undefined],
])('Accept %s is answered as %s', (accept, form) => {
  expect(chooseForm(accept)).toBe(form)
})

const facts: PypiFacts = {
  filetype: 'bdist_wheel',
  name: 'A.B',
  version: '1.0',
  metadata_version: '2.1',
  requires_python: '>=3.8',
  requires_dist: [],
  project_urls: ['Docs, https://example.test/'],
  metadata: { sha256: 'f'.repeat(64), size: 10 },
}
const manifest = (version: string, more: Partial<Manifest> = {}, moreFacts: Partial<PypiFacts> = {}): Manifest => {
  const blob = {
    sha256: version.padEnd(64, '0').replace(/\D/g, '0') as Sha256,
    size: 7,
    md5: 'm',
    sha1: '',
    sha512: '',
  }
  return {
    schema: 2,
    ref: { format: 'pypi', codename: 'ours' as Codename, name: 'a-b', version, arch: 'py3-none-any' },
    files: [{ path: `a_b-${version}-py3-none-any.whl`, blob }],
    about: {
      summary: 'S',
      description: 'D',
      source: 'a-b',
      source_version: version,
      depends: [],
      provides: [],
      conflicts: [],
    },
    state: 'published',
    reports: [],
    findings: [],
    facts: { ...facts, version, ...moreFacts },
    paths: [],
    by: 'ada',
    from: 'upload',
    at: '2026-01-02T03:04:05.678Z',
    changed_at: '2026-01-02T03:04:05.678Z',
    ...more,
  }
}
const held = manifest('2.0', {
  state: 'pending_review',
  review: { held_at: '2026-01-02T03:04:05.678Z', held_for: 'It is <young>' },
})
const rowOf = (one: Manifest): FileRow<ShownFacts> => {
  const { ref, files, state, at, review = null, decision = null } = one
  const { sha256, md5, size } = files[0].blob
  return {
    ...{ version: ref.version, arch: ref.arch, state, path: files[0].path, sha256, md5, size, at, review, decision },
    facts: one.facts as PypiFacts,
    held: state === 'published' ? null : one,
    beside: [],
  }
}
const project = projectOf('a-b', [manifest('1.0'), held].map(rowOf), 'https://h')
const simple = { name: project.name, files: project.files.map(simpleFileOf) }

describe('the page of a project', () => {
  test('as HTML lists a held file as yanked with the reason, and everything else that clients read', () => {
    expect(pageType('text/html')).toBe('text/html; charset=utf-8')
    const text = [...projectPage(simple, 'text/html')].join('')
    const lines = text.split('\n').filter(line => line.startsWith('<a '))
    const digest = project.files[0]?.sha256 ?? ''
    expect(lines[0]).toBe(
      `<a href="../../files/a-b/a_b-1.0-py3-none-any.whl#sha256=${digest}" data-requires-python="&gt;=3.8" data-core-metadata="sha256=${'f'.repeat(64)}" data-dist-info-metadata="sha256=${'f'.repeat(64)}">a_b-1.0-py3-none-any.whl</a><br>`,
    )
    expect(lines[1]).toContain('data-yanked="Held for review by Gatehouse: It is &lt;young&gt;. https://h/#/review?')
    expect(lines).toHaveLength(2)
  })

  test('as JSON says the same, with sizes and times', () => {
    expect(pageType(JSON_TYPE)).toBe(JSON_TYPE)
    const json = JSON.parse([...projectPage(simple, JSON_TYPE)].join('')) as { files: object[] }
    expect(json).toMatchObject({
      'meta': { 'api-version': '1.4' },
      'name': 'a-b',
      'project-status': { status: 'active' },
      'versions': ['1.0', '2.0'],
    })
    expect(json.files[0]).toEqual({
      'filename': 'a_b-1.0-py3-none-any.whl',
      'url': '../../files/a-b/a_b-1.0-py3-none-any.whl',
      'hashes': { sha256: project.files[0]?.sha256 },
      'requires-python': '>=3.8',
      'size': 7,
      'upload-time': '2026-01-02T03:04:05.678Z',
      'yanked': false,
      'core-metadata': { sha256: 'f'.repeat(64) },
      'provenance': null,
    })
    expect(json.files[1]).toMatchObject({
      yanked: expect.stringContaining('Held for review by Gatehouse: It is <young>.') as string,
    })
  })

  test("a maintainer's own yank is listed, and its file stays", () => {
    const yanked = { reason: 'Broken', by: 'ada', at: '2026-01-03T00:00:00.000Z' }
    const [file] = projectOf('a-b', [rowOf(manifest('1.0', {}, { yanked }))], 'https://h').files
    expect(file).toMatchObject({ yanked: 'Broken', isHeld: false })
  })
})

test('the list of names is there in both forms', () => {
  expect(namesPage(['a', 'b'], 'text/html')).toContain('<a href="a/">a</a><br>\n<a href="b/">b</a><br>\n')
  expect(JSON.parse(namesPage(['a'], JSON_TYPE))).toEqual({
    meta: { 'api-version': '1.4' },
    projects: [{ name: 'a' }],
  })
})

test('a version is published when a person lets it through, not when it was uploaded', () => {
  const approve = (at: string, cve?: string) => ({
    ...{ decision: 'approved', action: 'approve' as const, justification: 'x', by: 'ada', at },
    ...(cve === undefined ? {} : { cve }),
  })
  const at = '2026-01-01T00:00:00.000Z'
  expect(publishedAt({ at })).toBe(at)
  expect(publishedAt({ at, decision: approve('2026-02-01T00:00:00.000Z') })).toBe('2026-02-01T00:00:00.000Z')
  expect(publishedAt({ at, review: { history: [approve('2026-02-01T00:00:00.000Z', 'CVE-1')] } })).toBe(at)
})

describe('the JSON of a project', () => {
  const jsonOf = (version?: string): object | undefined => {
    const file = describedIn(project, version)
    const described = file && { file, manifest: manifest(file.version) }
    return described && legacyJson(project, { address: 'https://h/pypi/ours', version, described })
  }
  test('describes the newest version that clients take, and lists the files of all', () => {
    const json = jsonOf()
    expect(json).toMatchObject({
      info: { name: 'A.B', version: '1.0', yanked: false, project_urls: { Docs: 'https://example.test/' } },
      urls: [{ url: 'https://h/pypi/ours/files/a-b/a_b-1.0-py3-none-any.whl', yanked: false, python_version: 'py3' }],
      releases: { '1.0': [{ packagetype: 'bdist_wheel' }], '2.0': [{ yanked: true }] },
    })
  })
  test('of one version has its files alone; of a version that is not there it is absent', () => {
    const json = jsonOf('2.0')
    expect(json).toMatchObject({ info: { version: '2.0', yanked: true }, urls: [{}] })
    expect(json).not.toHaveProperty('releases')
    expect(jsonOf('3.0')).toBeUndefined()
  })
})

describe('attestations', () => {
  const one = { version: 1, verification_material: {}, envelope: {} }
  test('are kept as clients get them', () => {
    expect(JSON.parse(provenanceOf(JSON.stringify([one]))?.toString() ?? '')).toEqual({
      version: 1,
      attestation_bundles: [{ publisher: { kind: 'unknown' }, attestations: [one] }],
    })
    expect(provenanceOf(undefined)).toBeUndefined()
    expect(provenanceOf('[]')).toBeUndefined()
  })
  test.each(['{', '{}', '[1]', '[{"version":2}]', JSON.stringify(Array.from({ length: 17 }, () => one))])(
    'that are none are refused: %s',
    text => {
      expect(() => provenanceOf(text)).toThrow(expect.objectContaining({ code: 'bad_request' }) as Error)
    },
  )
})
