import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { api } from '../../server/api.ts'
import type { Row } from '../../server/core/contract.ts'
import { route, startApp, type TestApp } from '../support/app.ts'

type Json = Record<string, unknown>
let app: TestApp
let document: Json
beforeAll(async () => {
  app = await startApp({ routes: Object.entries(api).map(([key, row]) => route(key, row)) })
  document = (await app.ask('GET', '/openapi.json')).json()
})
afterAll(() => app.close())

function* nodes(value: unknown, path = '#'): Generator<readonly [string, Json]> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield [path, value as Json]
  for (const [key, member] of Object.entries(value)) yield* nodes(member, `${path}/${key}`)
}

const operations = (): [string, Json][] =>
  Object.entries(document.paths as Json).flatMap(([path, methods]) =>
    Object.entries(methods as Json).map(([method, operation]): [string, Json] => [
      `${method.toUpperCase()} ${path}`,
      operation as Json,
    ]),
  )

test('has every row, each with an id of its own, its access and its replies', () => {
  const rows: Record<string, Row> = api
  const expected = Object.entries(rows).map(([key, row]) => (row.root === true ? key : key.replace(' ', ' /api/v1')))
  expect(
    operations()
      .map(([key]) => key)
      .sort(),
  ).toEqual(expected.sort())
  expect(new Set(operations().map(([, { operationId }]) => operationId)).size).toBe(expected.length)
  for (const [key, row] of Object.entries(rows)) {
    const operation = Object.fromEntries(operations())[row.root === true ? key : key.replace(' ', ' /api/v1')] as Json
    const statuses = Object.keys(operation.responses as Json)
    expect(statuses, key).toEqual(
      expect.arrayContaining([
        row.reply === 'redirect' ? '302' : String(row.status ?? 200),
        ...(row.access === 'public' ? [] : ['401', '403']),
        ...(row.limit === undefined ? [] : ['429']),
      ]),
    )
    expect(operation.security, key).toEqual(row.access === 'public' ? [] : [{ bearer: [] }])
    expect(operation.requestBody !== undefined, key).toBe(row.body !== undefined || row.upload !== undefined)
  }
})

test('every schema of it compiles as JSON Schema 2020-12, which is the dialect of OpenAPI 3.1', () => {
  const ajv = new Ajv2020({ strictSchema: true, strictTypes: false, strictTuples: false, validateFormats: false })
  // what settings and filters say beside JSON Schema, which allows it
  for (const ours of ['unit', 'secret', 'edition', 'rule', 'inert', 'known']) ajv.addKeyword(ours)
  for (const [path, { schema }] of nodes(document)) {
    if (schema === undefined || JSON.stringify(schema).includes('#/components/')) continue
    expect(() => ajv.compile(schema as Json), path).not.toThrow()
  }
})

test('lists every status of success, and the errors of a body', () => {
  const of = (key: string): string[] => Object.keys((Object.fromEntries(operations())[key] as Json).responses as Json)
  expect(of('POST /api/v1/upload/')).toEqual(expect.arrayContaining(['200', '201', '413', '507']))
  expect(of('GET /health')).toEqual(['200', '503', 'default'])
  expect(of('GET /health/ready')).toEqual(['200', '503', 'default'])
  for (const [key, row] of Object.entries(api as Record<string, Row>)) {
    if (row.body !== undefined)
      expect(of(row.root === true ? key : key.replace(' ', ' /api/v1')), key).toEqual(
        expect.arrayContaining(['400', '413', '422', 'default']),
      )
  }
})

test('describes a form with a package and a file of data differently', () => {
  const types = (key: string): string[] =>
    Object.keys(((Object.fromEntries(operations())[key] as Json).requestBody as Json).content as Json)
  expect(types('POST /api/v1/upload/')).toEqual(['multipart/form-data'])
  expect(types('POST /api/v1/security/database')).toEqual(['application/octet-stream', 'multipart/form-data'])
})

test('a form has the fields that its route takes, and no others', () => {
  const forms = Object.fromEntries(
    operations().flatMap(([key, { requestBody }]) => {
      const { content } = (requestBody ?? {}) as { content?: Record<string, { schema: Json }> }
      const form = content?.['multipart/form-data']?.schema
      return form === undefined
        ? []
        : [[key, [Object.keys(form.properties as Json).sort(), form.required, form.additionalProperties]]]
    }),
  )
  const upload = [['component', 'distribution', 'file', 'resolve', 'sha256'], ['file', 'distribution'], false]
  expect(forms).toEqual({
    'POST /api/v1/upload/': upload,
    'POST /api/v1/upload/stream': upload,
    'POST /api/v1/upload/batch': [['component', 'distribution', 'file', 'sha256sums'], ['file'], false],
    'POST /api/v1/security/database': [['distribution', 'file', 'force'], ['file'], false],
    'POST /api/v1/security/packages/{name}/{version}/vex': [['file'], ['file'], false],
    'PUT /api/v1/distributions/{codename}/documents/{kind}': [['file'], ['file'], false],
  })
  const { requestBody } = Object.fromEntries(operations())['PUT /incoming/{codename}/{filename}'] as Json
  expect(Object.keys((requestBody as Json).content as Json)).toEqual(['application/octet-stream'])
})

test('names each path parameter once, as required', () => {
  for (const [key, { parameters }] of operations()) {
    const inPath = (parameters as Json[]).filter(parameter => parameter.in === 'path')
    expect(
      inPath.map(({ name }) => name),
      key,
    ).toEqual([...key.matchAll(/\{(\w+)\}/g)].map(match => match[1]))
    expect(
      inPath.every(({ required, schema }) => required === true && schema !== undefined),
      key,
    ).toBe(true)
  }
})

test('every reference resolves, and every schema is plain JSON Schema', () => {
  for (const [path, node] of nodes(document)) {
    if (typeof node.$ref !== 'string') continue
    const target = node.$ref
      .slice(2)
      .split('/')
      .reduce<unknown>((at, key) => (at as Json | undefined)?.[key], document)
    expect(target, `${path} → ${node.$ref}`).toBeDefined()
  }
  for (const [path, { type, required, properties }] of nodes(document)) {
    if (typeof type === 'string' && path.includes('schema'))
      expect(['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'], path).toContain(type)
    if (Array.isArray(required) && properties !== undefined)
      for (const name of required) expect(properties, path).toHaveProperty([String(name)])
  }
})

test('the page lists every route and loads nothing from other hosts', async () => {
  const page = await app.ask('GET', '/docs')
  for (const [key] of operations()) expect(page.text).toContain(`<code>${key.split(' ')[1] ?? ''}</code>`)
  expect(page.text).not.toMatch(/<script|<link|<style|style=|https?:\/\//)
})

test('names the media type of each file', () => {
  const of = (key: string): Json =>
    (((Object.fromEntries(operations())[key] as Json).responses as Json)['200'] as Json).content as Json
  for (const path of ['export', 'preview', '{name}/{version}'])
    expect(of(`GET /api/v1/sbom/${path}`)).toEqual({ 'application/json': { schema: {} } })
  expect(of('GET /api/v1/security/report')).toEqual({
    'application/json': { schema: {} },
    'text/html': { schema: { type: 'string' } },
  })
  expect(of('GET /api/v1/settings/gpg/export')).toEqual({
    'application/pgp-keys': { schema: { type: 'string', format: 'binary' } },
  })
  expect(Object.keys(of('GET /metrics'))).toEqual(['text/plain'])
})
