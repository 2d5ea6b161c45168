import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { listed, Text } from '../../core/schemas.ts'
import type { AdoptRoot } from '../../imports/adopt/roots.ts'

const Roots = Type.Unsafe<{ readonly roots: readonly AdoptRoot[] }>(
  Type.Object({
    roots: Type.Array(
      Type.Object({
        path: Text,
        readable: Type.Boolean(),
        folders: Type.Array(Type.Object({ path: Text, index: listed(['apt', 'rpm', 'none'] as const) })),
      }),
    ),
  }),
)

/** Trees on this machine, made by other tools, whose packages come in together. */
export const adoption = contract({
  'GET /import/adopt/roots': {
    summary: 'Lists the folders that trees may be adopted from, and the folders in them.',
    details:
      'An admin names them by IMPORT_ROOTS. `readable` is false for one that is not there. `index` says what a folder shows at first sight; indexes deeper in it are found, too.',
    access: 'maintainer+',
    reply: Roots,
  },
  'POST /import/adopt': {
    summary: 'Adopts the packages of a tree on this machine into a distribution, as a job.',
    details:
      'The tree is one that aptly, reprepro, createrepo_c, apk, Pulp or Nexus wrote, or folders of package files. Where it has indexes, what they name is taken, and a file that is not as its index says is left out; the signatures of those indexes are not asked for. Every package goes through the gate. Files are copied: the tree stays as it is. `GET /jobs/{id}` tells how far it is; its `result` counts `added`, `held`, `blocked`, `upstream_changed` (here with other bytes, which stay), `skipped` (here already) and `failed`, and names the first that are not served, with the reason.',
    access: 'maintainer+',
    limit: { bucket: 'import', perMinute: 20 },
    status: 202,
    body: Type.Object({
      path: Type.String({ minLength: 1, maxLength: 4096, description: 'Absolute, below one of the roots.' }),
      distribution: Type.String({ minLength: 1, maxLength: 100 }),
      component: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 40,
          description: 'For all of them; otherwise each stays in its own, where the distribution has that.',
        }),
      ),
      suite: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 200,
          description: 'APT: which one of several. Otherwise that of the codename, or the only one.',
        }),
      ),
      group: Type.Optional(
        Type.String({
          pattern: '^[A-Za-z0-9][A-Za-z0-9+._-]{0,79}$',
          rule: '1 to 80 letters, digits, +, ., _ or -, and first a letter or digit',
          description: 'What came together has one name; by default that of the folder.',
        }),
      ),
    }),
    reply: Type.Object({ job_id: Text, status: Text, message: Text }),
    fails: [
      'adopt_outside',
      'adopt_missing',
      'unknown_distribution',
      'distribution_retired',
      'bad_component',
      'format_not_active',
    ],
  },
})
