import { Type } from '@sinclair/typebox'
import { SnapshotSchema } from '../../catalog/snapshot.ts'
import { VERSION_FACTS } from '../../catalog/version-facts.ts'
import { contract } from '../../core/contract.ts'
import { NameVersion } from '../../core/schemas.ts'
import type { Snapshot } from '../../catalog/snapshot.ts'
import type { VersionList } from './versions.ts'

const Name = Type.Object({ name: Type.String({ minLength: 1, maxLength: 300 }) })
const PLACE = {
  distribution: Type.Optional(Type.String({ maxLength: 80 })),
  arch: Type.Optional(Type.String({ maxLength: 80 })),
}

/** Versions in the words of existing clients. */
export const artifactVersions = contract({
  'GET /artifacts/{name}/versions': {
    summary: 'Lists the packages of a name, newest version first, at most 1000.',
    access: 'any',
    params: Name,
    query: Type.Object(PLACE),
    fails: ['package_not_found'],
    reply: Type.Unsafe<VersionList>(
      Type.Object({
        package: Type.String(),
        count: Type.Integer(),
        versions: Type.Array(
          Type.Object({
            version: Type.String(),
            ...VERSION_FACTS,
            is_latest: Type.Boolean(),
            pool_available: Type.Boolean(),
          }),
        ),
      }),
    ),
  },
  'GET /artifacts/{name}/versions/{version}/snapshot': {
    summary: 'Shows the manifest of one version.',
    access: 'any',
    params: NameVersion,
    query: Type.Object(PLACE),
    fails: ['package_not_found', 'version_not_found'],
    reply: Type.Unsafe<Snapshot>(SnapshotSchema),
  },
  'GET /artifacts/{name}/versions/{version}/download': {
    summary: 'Sends the file of a version that is served.',
    access: 'any',
    params: NameVersion,
    query: Type.Object(PLACE),
    fails: ['package_not_found', 'version_not_found', 'not_served'],
    reply: 'file',
  },
  'GET /artifacts/admin/index': {
    summary: 'Sends every name with its versions as one JSON object.',
    access: 'maintainer+',
    reply: 'file',
    types: ['application/json'],
  },
})
