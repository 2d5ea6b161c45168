import { Type } from '@sinclair/typebox'
import { pagingQuery, Term } from '../../catalog/schemas.ts'
import { contract } from '../../core/contract.ts'
import { ArchFilter, DistributionFilter, listed, NameVersion, Text } from '../../core/schemas.ts'
import type { ComponentPage, UnopenedPage } from './contents.ts'

const PLACE = { distribution: DistributionFilter, arch: ArchFilter }
const PAGE = { total: Type.Integer(), page: Type.Integer(), per_page: Type.Integer(), pages: Type.Integer() }
/** Of the whole package, whatever the query narrows the list to. */
const OF_ALL = {
  cut: Type.Optional(Type.String({ description: 'Why the package, or its rest, was not read.' })),
}
const OF_VERSION = {
  access: 'any',
  params: NameVersion,
  fails: ['package_not_found', 'version_not_found'],
} as const
const WHICH =
  'If the version exists more than once: of the published one, unless `distribution` and `arch` name another.'

/** What lies inside one version of a package. */
export const contents = contract({
  'GET /artifacts/{name}/{version}/components': {
    summary: 'Lists the components that files in a version name: those with findings first, then by package URL.',
    details: `\`shipped\`: the thing itself is in the package. \`declared\`: a file only says that it was wanted. ${WHICH}`,
    ...OF_VERSION,
    query: Type.Object({
      ...PLACE,
      q: Type.Optional(Type.String({ ...Term, description: 'Part of the package URL or of the path.' })),
      presence: Type.Optional(listed(['shipped', 'declared'])),
      findings: Type.Optional(Type.Boolean({ description: 'Whether it has findings.' })),
      ...pagingQuery(500),
    }),
    reply: Type.Unsafe<ComponentPage>(
      Type.Object({
        items: Type.Array(
          Type.Object({
            purl: Text,
            name: Text,
            group: Type.Optional(Type.String({ description: '`org.apache.logging.log4j`, `@scope`.' })),
            version: Type.Optional(Type.String({ description: 'Absent where the file does not say it.' })),
            path: Type.String({ description: 'The file that names it; behind `!/` inside an archive.' }),
            presence: Type.String({ enum: ['shipped', 'declared'] }),
            rule: Type.String({ description: 'Which rule named it.' }),
            confidence: Type.String({ enum: ['certain', 'probable'] }),
            unasked: Type.Optional(Type.String({ description: 'Why no advisories are asked about it.' })),
            findings: Type.Array(Text, { description: 'What the last scan of the package found of it.' }),
          }),
        ),
        ...PAGE,
        shipped: Type.Integer({ description: 'How many the whole package ships.' }),
        declared: Type.Integer({ description: 'How many the whole package only declares.' }),
        ...OF_ALL,
      }),
    ),
  },
  'GET /artifacts/{name}/{version}/unopened': {
    summary: 'Lists the files in a version that were not opened, or not to their end, by path.',
    details: WHICH,
    ...OF_VERSION,
    query: Type.Object({
      ...PLACE,
      q: Type.Optional(Type.String({ ...Term, description: 'Part of the path or of the reason.' })),
      ...pagingQuery(500),
    }),
    reply: Type.Unsafe<UnopenedPage>(
      Type.Object({
        items: Type.Array(Type.Object({ path: Text, size: Type.Integer(), why: Text })),
        ...PAGE,
        all: Type.Integer({ description: 'How many the whole package has.' }),
        more: Type.Integer({ description: 'How many more there are: only the first 500 are named.' }),
        ...OF_ALL,
      }),
    ),
  },
})
