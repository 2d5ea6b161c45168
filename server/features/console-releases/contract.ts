import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { Text } from '../../core/schemas.ts'

/** Versions of the desktop program that this service hands on, so that it is updated without internet. */
export const consoleReleases = contract({
  'GET /console/releases': {
    summary: 'Lists the versions of the desktop program that lie here, as their vendor signed them.',
    details:
      'Each is the text of a manifest and its Ed25519 signature in base64. The service checks neither: the desktop program believes nothing but the signature. An admin puts `NAME.json`, `NAME.json.sig` and the files it names into `console/releases` below REPOS_ROOT.',
    access: 'public',
    reply: Type.Object({ releases: Type.Array(Type.Object({ manifest: Text, signature: Text })) }),
  },
  'GET /console/releases/{file_name}': {
    summary: 'Downloads a file of a version of the desktop program.',
    access: 'public',
    limit: { bucket: 'console-releases', perMinute: 10 },
    params: Type.Object({
      file_name: Type.String({
        pattern: '^[A-Za-z0-9][A-Za-z0-9_.+-]{0,120}$',
        rule: 'the name of a file: letters, digits, `_`, `.`, `+` and `-`',
      }),
    }),
    reply: 'file',
    types: ['application/octet-stream'],
    fails: ['console_release_not_found'],
  },
})
