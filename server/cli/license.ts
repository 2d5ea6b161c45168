import { randomUUID } from 'node:crypto'
import { parseArgs } from 'node:util'
import { issueLicense } from '../core/license.ts'

const USAGE = 'LICENSE_VENDOR_SECRET=… npm run license -- --to "Name of the customer" [--days 365]\n'

/** Prints a licence key for a customer. For the vendor, who holds the secret. */
/** Undefined when an option is unknown. */
function readOptions(): { readonly to?: string; readonly days?: string } | undefined {
  try {
    return parseArgs({ options: { to: { type: 'string' }, days: { type: 'string' } } }).values
  } catch {
    return undefined
  }
}

function main(): number {
  const values = readOptions()
  // eslint-disable-next-line no-restricted-properties -- a tool of the vendor, not of the service
  const secret = process.env.LICENSE_VENDOR_SECRET ?? ''
  const days = Number(values?.days ?? 365)
  if (values?.to === undefined || secret === '' || !Number.isInteger(days) || days < 1) {
    process.stderr.write(USAGE)
    return 2
  }
  const now = new Date()
  const expires = new Date(now.getTime() + days * 86_400_000)
  process.stdout.write(
    `${issueLicense({ id: randomUUID(), issued_to: values.to, issued_at: now.toISOString(), expires_at: expires.toISOString() }, secret)}\n`,
  )
  return 0
}

process.exitCode = main()
