import { contract } from '../../core/contract.ts'

/** What somebody needs who helps from afar. */
export const support = contract({
  'POST /support/bundle': {
    summary: 'Makes a gzipped tar for whoever helps: health, versions, masked settings, sizes, recent jobs and logs.',
    details:
      'Secrets are in none of it: settings and variables that hold one are `***`, and every line is masked as the log is. It names packages, users and addresses, as the log does.',
    access: 'admin',
    reply: 'file',
    types: ['application/gzip'],
  },
})
