import { Type } from '@sinclair/typebox'

/** The facts of an audit line as the API describes them; lines of releases before 0.2 have none. */
export const FactsSchema = Type.Optional(
  Type.Object(
    { kind: Type.String({ description: 'Says which other fields there are, such as `package.admitted`.' }) },
    { additionalProperties: true, description: 'What `detail` says, for programs.' },
  ),
)
