import { parentPort, workerData } from 'node:worker_threads'
import { getFormat } from '../formats/index.ts'
import { importData } from '../vulndb/store/import.ts'
import { answerOf } from '../vulndb/store/importer.ts'
import { createOrders } from '../vulndb/versions/orders.ts'
import type { ImportJob } from '../vulndb/read/readers.ts'

/**
 * The thread in which advisories are compiled: minutes of work that must not hold up a request. It is a program of its
 * own because it needs the version orders of all formats, and a thread shares no functions with whoever starts it.
 */
const orders = createOrders({ compare: (format, a, b) => getFormat(format).compareVersions(a, b) })
// its starter gives it exactly this
const answer = await answerOf(importData(workerData as ImportJob, orders))
parentPort?.postMessage(answer)
