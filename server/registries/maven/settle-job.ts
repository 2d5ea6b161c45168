import type { Job } from '../../core/feature.ts'

/** Every minute: what was deployed without its list of versions passes the gate. */
export const settleJob = (rested: () => Promise<void>): Job => ({
  id: 'maven-deploys',
  name: 'Take Maven versions whose files have all come',
  when: () => '* * * * *',
  run: rested,
})
