import type { Descriptor, Platform } from './descriptor.ts'

/** What the catalogue keeps of a manifest beside its bytes. JSON. */
export interface OciFacts {
  readonly kind: 'image' | 'artifact' | 'index'
  /** The Content-Type that it is served with. */
  readonly media_type: string
  /** What lists of referrers say that it is. */
  readonly artifact_type?: string
  /** The digest of the manifest that it is about. */
  readonly subject?: string
  readonly platform?: Platform
  readonly config?: Descriptor
  readonly layers: readonly Descriptor[]
  readonly manifests: readonly Descriptor[]
  readonly annotations: Readonly<Record<string, string>>
  /** Bytes of the config and all layers as they are stored. */
  readonly stored_bytes: number
  /** Names of layers that are no tar: they were scanned as single files, and nothing in them was looked at. */
  readonly opaque: readonly string[]
}
