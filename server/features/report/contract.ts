import { Type } from '@sinclair/typebox'
import { contract } from '../../core/contract.ts'
import { listed } from '../../core/schemas.ts'

/** The security report. */
export const report = contract({
  'GET /security/report': {
    summary: 'Answers the security report as JSON, or with `format=html` as a printable page.',
    access: 'any',
    query: Type.Object({
      format: Type.Optional(listed(['json', 'html'])),
      days: Type.Optional(Type.Integer({ minimum: 1, maximum: 3_650 })),
    }),
    reply: 'file',
    types: ['application/json', 'text/html'],
  },
})
