import { createHash } from 'node:crypto'
import { whyHeld } from '../held.ts'
import { plain } from '../plain.ts'
import type { Refusal, RegistryAnswer, RegistryRequest } from '../protocol.ts'
import type { Algorithm } from '../../formats/maven/place.ts'

/** What Maven, Gradle and sbt show is the text after the status; the body is for people who look. */
export const refuse = ({ status, detail }: Refusal): RegistryAnswer => plain(status, detail)

/**
 * A version that is not served. Never 404: a client would go on to the next repository and fetch the name from there.
 */
export function held(
  manifest: Parameters<typeof whyHeld>[0],
  { console, method }: Pick<RegistryRequest, 'console' | 'method'>,
): RegistryAnswer {
  const { short, sentence } = whyHeld(manifest, console)
  // a deploy was understood and nobody lacks a right: mvn says "transfer failed" and the reason
  return plain(method === 'PUT' ? 422 : 403, sentence, short)
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
