import { createHash } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import { whyHeld } from '../held.ts'
import { plain } from '../plain.ts'
import type { Refusal, RegistryAnswer, RegistryRequest } from '../protocol.ts'
import type { Algorithm } from '../../formats/maven/place.ts'

/**
 * Maven 3, Gradle and sbt show the text after the status; Maven 4 has a client that drops it, and shows a problem. Its
 * type is compared as it stands, so it names no charset.
 * Source: RFC 9457; maven-resolver 2, RFC9457Reporter
 */
const problem = (status: number, detail: string, reason: string = detail): RegistryAnswer => ({
  status,
  reason,
  type: 'application/problem+json',
  headers: { 'Cache-Control': 'no-store' },
  body: { kind: 'bytes', bytes: JSON.stringify({ title: STATUS_CODES[status], status, detail }) },
})

/** What is not there is no problem: Maven takes only a 404 without one for that, and goes on. */
export const refuse = ({ status, detail }: Refusal): RegistryAnswer =>
  status === 404 ? plain(status, detail) : problem(status, detail)

/**
 * A version that is not served. Never 404: a client would go on to the next repository and fetch the name from there.
 */
export function held(
  manifest: Parameters<typeof whyHeld>[0],
  { console, method }: Pick<RegistryRequest, 'console' | 'method'>,
): RegistryAnswer {
  const { short, sentence } = whyHeld(manifest, console)
  // a deploy was understood and nobody lacks a right: mvn says "transfer failed" and the reason
  return problem(method === 'PUT' ? 422 : 403, sentence, short)
}

export const created: RegistryAnswer = { status: 201 }

const TYPES: Readonly<Record<string, string>> = {
  jar: 'application/java-archive',
  war: 'application/java-archive',
  ear: 'application/java-archive',
  aar: 'application/java-archive',
  pom: 'text/xml; charset=utf-8',
  module: 'application/json; charset=utf-8',
  asc: 'text/plain; charset=utf-8',
}

/** The type of a file by its extension. */
export const typeOf = (extension: string): string =>
  TYPES[extension.slice(extension.lastIndexOf('.') + 1)] ?? 'application/octet-stream'

export const text = (bytes: string): RegistryAnswer => ({
  status: 200,
  type: 'text/plain; charset=utf-8',
  headers: { 'Cache-Control': 'no-cache' },
  body: { kind: 'bytes', bytes },
})

/** A list that was made here, or a checksum of it. */
export const list = (
  xml: string,
  checksum: Algorithm | undefined,
  headers: NonNullable<RegistryAnswer['headers']> = {},
): RegistryAnswer =>
  checksum === undefined
    ? {
        status: 200,
        type: 'text/xml; charset=utf-8',
        headers: { 'Cache-Control': 'no-cache', ...headers },
        body: { kind: 'bytes', bytes: xml },
        conditional: true,
      }
    : text(createHash(checksum).update(xml).digest('hex'))
