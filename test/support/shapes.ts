import { Type, type TProperties, type TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { expect } from 'vitest'

/* The types of ROUTES, as tests of what existing clients read write them down. Fields beside these are allowed. */
export const s = Type.String()
export const i = Type.Integer()
export const n = Type.Number()
export const b = Type.Boolean()
/** ISO 8601 in UTC. */
export const t = Type.RegExp(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
/** A day. */
export const day = Type.RegExp(/^\d{4}-\d\d-\d\d$/)
export const nil = Type.Null()
export const list = (of: TSchema): TSchema => Type.Array(of)
export const or = (...of: TSchema[]): TSchema => Type.Union(of)
export const some = (...words: string[]): TSchema => Type.Union(words.map(word => Type.Literal(word)))
export const obj = (fields: TProperties): TSchema => Type.Object(fields)
export const map = (of: TSchema): TSchema => Type.Record(Type.String(), of)
export const page = (of: TSchema): TSchema => obj({ items: list(of), total: i, page: i, per_page: i, pages: i })
export const severities = obj({ critical: i, high: i, medium: i, low: i, negligible: i, unknown: i })

/** Fails with the first field that is missing or of another type. */
export function expectShape(value: unknown, shape: TSchema): void {
  const wrong = [...Value.Errors(shape, value)].map(
    ({ path, message, value: found }) => `${path}: ${message}, found ${JSON.stringify(found)}`,
  )
  expect(wrong).toEqual([])
}

/** The manifest of one version. */
export const SNAPSHOT = obj({
  name: s,
  version: s,
  arch: s,
  distribution: s,
  section: s,
  description: s,
  maintainer: s,
  installed_size_kb: or(i, nil),
  file_size_bytes: i,
  filename: s,
  type: s,
  status: s,
  source: obj({ imported_by: s, imported_at: t, import_method: s, import_group: or(s, nil) }),
  integrity: obj({ sha256: s, sha512: s, gpg_signed: b }),
  tags: list(s),
  dependencies: list(s),
  validation_steps: list(obj({ name: s, detail: s, passed: b, message: s })),
  cve_results: list(obj({ id: s, severity: s })),
})
