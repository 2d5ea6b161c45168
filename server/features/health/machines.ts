import { Type } from '@sinclair/typebox'
import { contract, type Handlers } from '../../core/contract.ts'
import { OrNull, Text, Time } from '../../core/schemas.ts'
import type { MachineDays, MachineHistory } from './machine-history.ts'

const DAYS = 30
const Mb = OrNull(Type.Integer({ description: 'MB of 1024² bytes.' }))

/** Load and memory over days. */
export const machines = contract({
  'GET /host/history': {
    summary: 'Shows load and memory of each machine that runs the service on each of the last days.',
    details:
      'Mean and peak of one sample a minute, in UTC, today included, kept for 90 days. `hours` are those with a sample: of a day with none nothing is known, and its numbers are null. The load is that over a minute: above `cores` work waits. The memory is what programs could not have any more. The machine that answers comes first, then those seen last, at most 20.',
    access: 'auditor+',
    query: Type.Object({
      days: Type.Optional(Type.Integer({ minimum: 1, maximum: 90, description: '30 by default.' })),
    }),
    reply: Type.Unsafe<{ readonly machines: readonly MachineDays[] }>(
      Type.Object({
        machines: Type.Array(
          Type.Object({
            machine: Text,
            here: Type.Boolean(),
            last_at: Time,
            cores: Type.Integer(),
            memory_total_mb: Mb,
            days: Type.Array(
              Type.Object({
                date: Type.String({ format: 'date' }),
                hours: Type.Integer(),
                load_mean: OrNull(Type.Number()),
                load_peak: OrNull(Type.Number()),
                memory_mean_mb: Mb,
                memory_peak_mb: Mb,
              }),
            ),
          }),
        ),
      }),
    ),
  },
})

export const machinesHandlers: Handlers<typeof machines, { readonly history: Pick<MachineHistory, 'read'> }> = {
  'GET /host/history': async ({ history }, { query }) => ({ machines: await history.read(query.days ?? DAYS) }),
}
