import { Type } from '@sinclair/typebox'

export const MachineId = Type.Integer({ minimum: 1, maximum: 2_147_483_647 })
export const ClientId = Type.Object({ id: MachineId })
export const AUDITED = { access: 'auditor+', edition: 'The inventory' } as const
export const ADMIN = { access: 'admin', edition: 'The inventory' } as const
export const ABSENT = ['inventory_client_not_found'] as const

/** What can be exported. */
export const EXPORTS = ['clients', 'packages', 'findings', 'compliance'] as const
export type ExportKind = (typeof EXPORTS)[number]
