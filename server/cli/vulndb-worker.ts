import { parentPort, workerData } from 'node:worker_threads'
import { getFormat } from '../formats/index.ts'
import { importData } from '../vulndb/store/import.ts'
import { answerOf } from '../vulndb/store/importer.ts'
import { createOrders } from '../vulndb/versions/orders.ts'
import type { ImportJob } from '../vulndb/read/run.ts'

/**
 * The thread that compiles advisories: minutes of work that must not hold up a request. It is a separate program
 * because it needs the version orders of all formats, and functions cannot be passed to a thread.
 */
const orders = createOrders({ compare: (format, a, b) => getFormat(format).compareVersions(a, b) })
// passed by whoever starts the thread
const answer = await answerOf(importData(workerData as ImportJob, orders))
parentPort?.postMessage(answer)
