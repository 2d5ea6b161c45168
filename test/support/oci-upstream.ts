import { sha256, type BuiltImage } from './oci-images.ts'
import type { RegistryUpstream, SeenRequest, Served } from './registry-upstream.ts'

/** What a registry answers for a manifest or blob. */
export const servedBytes = (bytes: Buffer, type: string): Served => ({
  body: bytes,
  type,
  headers: { 'Docker-Content-Digest': sha256(bytes), 'ETag': `"${sha256(bytes)}"` },
})

/** Puts an image into an upstream, whole, and gives it tags. */
export function putImage(
  upstream: Pick<RegistryUpstream, 'put'>,
  name: string,
  { manifest, mediaType, config, layers }: BuiltImage,
  ...tags: readonly string[]
): void {
  const put = (path: string, bytes: Buffer, type = 'application/octet-stream'): void =>
    upstream.put(`/v2/${name}/${path}`, servedBytes(bytes, type))
  for (const blob of [config, ...layers]) if (blob.length > 0) put(`blobs/${sha256(blob)}`, blob)
  for (const reference of [sha256(manifest), ...tags]) put(`manifests/${reference}`, manifest, mediaType)
}

/** What a path answers to those alone who bring this header; others are sent to `realm` for a token. */
export const onlyWith =
  (authorization: string, challenge: string, served: Served) =>
  ({ headers }: SeenRequest): Served =>
    headers.authorization === authorization
      ? served
      : { status: 401, body: '{"errors":[{"code":"UNAUTHORIZED"}]}', headers: { 'WWW-Authenticate': challenge } }
