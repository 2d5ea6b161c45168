import type { Coordinates } from './coordinates.ts'

/*
 * Artifacts that come without pom.properties, or whose artifactId lies under several groups: `group:artifact`, then the
 * names by which their manifests call them (Automatic-Module-Name, Bundle-SymbolicName, or an Implementation-Title that
 * no other artifact has). Read from the manifests of their releases. The group given here is where the project itself
 * publishes; the others repackage it.
 */
const ROWS = `
org.springframework:spring-aop spring.aop org.springframework.aop
org.springframework:spring-aspects spring.aspects org.springframework.aspects
org.springframework:spring-beans spring.beans org.springframework.beans
org.springframework:spring-context spring.context org.springframework.context
org.springframework:spring-context-support spring.context.support org.springframework.context.support
org.springframework:spring-core spring.core org.springframework.core
org.springframework:spring-expression spring.expression org.springframework.expression
org.springframework:spring-instrument spring.instrument org.springframework.instrument
org.springframework:spring-jcl spring.jcl
org.springframework:spring-jdbc spring.jdbc org.springframework.jdbc
org.springframework:spring-jms spring.jms org.springframework.jms
org.springframework:spring-messaging spring.messaging
org.springframework:spring-orm spring.orm org.springframework.orm
org.springframework:spring-oxm spring.oxm org.springframework.oxm
org.springframework:spring-test spring.test org.springframework.test
org.springframework:spring-tx spring.tx org.springframework.transaction
org.springframework:spring-web spring.web org.springframework.web
org.springframework:spring-webflux spring.webflux
org.springframework:spring-webmvc spring.webmvc org.springframework.web.servlet
org.springframework:spring-websocket spring.websocket
org.springframework.boot:spring-boot spring.boot
org.springframework.boot:spring-boot-actuator spring.boot.actuator
org.springframework.boot:spring-boot-actuator-autoconfigure spring.boot.actuator.autoconfigure
org.springframework.boot:spring-boot-autoconfigure spring.boot.autoconfigure
org.springframework.cloud:spring-cloud-function-context
org.springframework.cloud:spring-cloud-gateway-server
org.springframework.data:spring-data-commons spring.data.commons
org.springframework.data:spring-data-jpa spring.data.jpa
org.springframework.data:spring-data-mongodb spring.data.mongodb
org.springframework.data:spring-data-rest-webmvc spring.data.rest.webmvc
org.springframework.security:spring-security-config spring.security.config
org.springframework.security:spring-security-core spring.security.core
org.springframework.security:spring-security-crypto spring.security.crypto
org.springframework.security:spring-security-oauth2-client spring.security.oauth2.client
org.springframework.security:spring-security-web spring.security.web
com.squareup.okhttp3:okhttp okhttp3
com.squareup.okhttp3:okhttp-jvm
com.squareup.okio:okio okio
com.squareup.okio:okio-jvm
com.squareup.retrofit2:retrofit retrofit2
com.h2database:h2 com.h2database
org.postgresql:postgresql org.postgresql.jdbc org.postgresql.jdbc3 org.postgresql.jdbc4 org.postgresql.jdbc41 org.postgresql.jdbc42
com.google.guava:guava com.google.guava com.google.common
com.google.code.gson:gson com.google.gson
com.google.protobuf:protobuf-java com.google.protobuf
commons-collections:commons-collections org.apache.commons.collections
org.apache.commons:commons-collections4 org.apache.commons.collections4 org.apache.commons.commons-collections4
commons-beanutils:commons-beanutils org.apache.commons.beanutils
commons-fileupload:commons-fileupload org.apache.commons.fileupload org.apache.commons.commons-fileupload
commons-httpclient:commons-httpclient org.apache.commons.httpclient
commons-io:commons-io org.apache.commons.io org.apache.commons.commons-io
commons-net:commons-net org.apache.commons.net org.apache.commons.commons-net
commons-codec:commons-codec org.apache.commons.codec org.apache.commons.commons-codec
commons-lang:commons-lang org.apache.commons.lang
org.apache.commons:commons-compress org.apache.commons.compress org.apache.commons.commons-compress
org.apache.commons:commons-configuration2 org.apache.commons.configuration2 org.apache.commons.commons-configuration2
org.apache.commons:commons-lang3 org.apache.commons.lang3
org.apache.commons:commons-text org.apache.commons.text org.apache.commons.commons-text
org.apache.velocity:velocity velocity
org.apache.velocity:velocity-tools velocity-tools
org.apache.velocity:velocity-engine-core org.apache.velocity.engine.core
org.apache.derby:derby derby org.apache.derby.engine
org.apache.derby:derbyclient org.apache.derby.client
org.apache.derby:derbynet org.apache.derby.server
org.apache.logging.log4j:log4j-api org.apache.logging.log4j.api
org.apache.logging.log4j:log4j-core org.apache.logging.log4j.core org.apache.logging.log4j-core
org.apache.logging.log4j:log4j-1.2-api org.apache.logging.log4j.1.2-api
log4j:log4j log4j org.apache.log4j
ch.qos.logback:logback-classic ch.qos.logback.classic
ch.qos.logback:logback-core ch.qos.logback.core
ch.qos.reload4j:reload4j ch.qos.reload4j
org.slf4j:slf4j-api org.slf4j slf4j.api
org.slf4j:slf4j-ext org.slf4j.ext slf4j.ext
com.fasterxml.jackson.core:jackson-annotations com.fasterxml.jackson.annotation com.fasterxml.jackson.core.jackson-annotations
com.fasterxml.jackson.core:jackson-core com.fasterxml.jackson.core com.fasterxml.jackson.core.jackson-core
com.fasterxml.jackson.core:jackson-databind com.fasterxml.jackson.databind com.fasterxml.jackson.core.jackson-databind
com.fasterxml.jackson.dataformat:jackson-dataformat-xml com.fasterxml.jackson.dataformat.xml com.fasterxml.jackson.dataformat.jackson-dataformat-xml
com.fasterxml.jackson.dataformat:jackson-dataformat-cbor com.fasterxml.jackson.dataformat.cbor com.fasterxml.jackson.dataformat.jackson-dataformat-cbor
com.fasterxml.woodstox:woodstox-core com.ctc.wstx com.fasterxml.woodstox.woodstox-core
org.codehaus.jackson:jackson-mapper-asl jackson-mapper-asl
org.codehaus.jackson:jackson-core-asl jackson-core-asl
org.codehaus.jettison:jettison org.codehaus.jettison.jettison
org.codehaus.groovy:groovy groovy org.codehaus.groovy
org.codehaus.plexus:plexus-utils
org.yaml:snakeyaml org.yaml.snakeyaml
org.json:json org.json
org.jsoup:jsoup org.jsoup
org.dom4j:dom4j dom4j org.dom4j
dom4j:dom4j dom4j org.dom4j
org.jdom:jdom2 org.jdom2
net.minidev:json-smart net.minidev.json-smart
net.minidev:accessors-smart net.minidev.accessors-smart
com.jayway.jsonpath:json-path json.path com.jayway.jsonpath.json-path
com.alibaba:fastjson com.alibaba.fastjson
com.thoughtworks.xstream:xstream xstream
xalan:xalan
xerces:xercesImpl
xom:xom
mysql:mysql-connector-java com.mysql.cj com.mysql.jdbc
com.mysql:mysql-connector-j com.mysql.cj
org.mariadb.jdbc:mariadb-java-client org.mariadb.jdbc
com.microsoft.sqlserver:mssql-jdbc com.microsoft.sqlserver.jdbc
org.xerial:sqlite-jdbc org.xerial.sqlitejdbc org.xerial.sqlite-jdbc
org.hsqldb:hsqldb org.hsqldb.hsqldb
com.mchange:c3p0 com.mchange.c3p0
org.hibernate:hibernate-core org.hibernate.core org.hibernate.orm.core
org.hibernate.orm:hibernate-core org.hibernate.orm.core
org.hibernate.validator:hibernate-validator org.hibernate.validator
org.bouncycastle:bcprov-jdk15on bcprov
org.bouncycastle:bcprov-jdk18on bcprov
org.bouncycastle:bcpkix-jdk15on bcpkix
org.bouncycastle:bcpkix-jdk18on bcpkix
org.eclipse.jetty:jetty-server org.eclipse.jetty.server
org.eclipse.jetty:jetty-http org.eclipse.jetty.http
org.eclipse.jetty:jetty-io org.eclipse.jetty.io
org.eclipse.jetty:jetty-util org.eclipse.jetty.util
org.eclipse.jetty:jetty-servlets org.eclipse.jetty.servlets
org.eclipse.jetty:jetty-webapp org.eclipse.jetty.webapp
org.eclipse.jetty:jetty-xml org.eclipse.jetty.xml
org.eclipse.jgit:org.eclipse.jgit org.eclipse.jgit
org.apache.tomcat.embed:tomcat-embed-core org.apache.tomcat.embed.core org.apache.tomcat-embed-core
org.apache.tomcat.embed:tomcat-embed-el org.apache.tomcat.embed.el org.apache.tomcat-embed-el
org.apache.tomcat.embed:tomcat-embed-websocket org.apache.tomcat.embed.websocket org.apache.tomcat-embed-websocket
org.apache.tomcat:tomcat-catalina org.apache.tomcat-catalina
org.apache.tomcat:tomcat-coyote org.apache.tomcat-coyote
org.apache.tomcat:tomcat-util org.apache.tomcat-util
io.undertow:undertow-core io.undertow.core
io.netty:netty-all io.netty.all
io.netty:netty-buffer io.netty.buffer
io.netty:netty-codec io.netty.codec
io.netty:netty-codec-haproxy io.netty.codec.haproxy io.netty.codec-haproxy
io.netty:netty-codec-http io.netty.codec.http io.netty.codec-http
io.netty:netty-codec-http2 io.netty.codec.http2 io.netty.codec-http2
io.netty:netty-common io.netty.common
io.netty:netty-handler io.netty.handler
org.jboss.netty:netty org.jboss.netty
org.apache.httpcomponents:httpclient org.apache.httpcomponents.httpclient
org.apache.httpcomponents:httpcore org.apache.httpcomponents.httpcore
org.asynchttpclient:async-http-client org.asynchttpclient.client
org.apache.struts:struts2-core org.apache.struts.2-core
struts:struts
org.apache.shiro:shiro-core org.apache.shiro.core
org.apache.shiro:shiro-web org.apache.shiro.web
org.apache.mina:mina-core org.apache.mina.core
org.apache.pdfbox:pdfbox org.apache.pdfbox
org.apache.poi:poi org.apache.poi.poi
org.apache.poi:poi-ooxml org.apache.poi.ooxml
org.apache.thrift:libthrift org.apache.thrift
org.apache.avro:avro org.apache.avro.avro org.apache.avro
org.apache.tika:tika-core org.apache.tika.core
org.apache.zookeeper:zookeeper org.apache.hadoop.zookeeper org.apache.zookeeper
org.apache.kafka:kafka-clients
org.apache.activemq:activemq-broker
org.apache.activemq:activemq-client
org.apache.cxf:cxf-core org.apache.cxf.core org.apache.cxf.cxf-core
org.apache.ant:ant org.apache.ant
org.apache.xmlgraphics:batik-all
org.apache.xmlrpc:xmlrpc-common
org.quartz-scheduler:quartz org.quartz-scheduler.quartz
org.scala-lang:scala-library scala.library org.scala-lang.scala-library
org.jetbrains.kotlin:kotlin-stdlib kotlin.stdlib
com.jcraft:jsch com.jcraft.jsch
com.nimbusds:nimbus-jose-jwt com.nimbusds.jose.jwt com.nimbusds.nimbus-jose-jwt
org.bitbucket.b_c:jose4j org.jose4j
org.xerial.snappy:snappy-java org.xerial.snappy snappy-java
org.jline:jline org.jline
junit:junit JUnit
ognl:ognl
org.javassist:javassist javassist
org.freemarker:freemarker org.freemarker.freemarker freemarker
org.beanshell:bsh bsh
bouncycastle:bcprov-jdk14
rhino:js
org.mozilla:rhino org.mozilla.rhino
`

const rows = ROWS.trim()
  .split('\n')
  .map(line => {
    const [coordinates = '', ...names] = line.split(' ')
    const [group = '', artifact = ''] = coordinates.split(':')
    return { group, artifact, names }
  })

const byName = new Map<string, Coordinates[]>()
const groups = new Map<string, string[]>()
for (const { group, artifact, names } of rows) {
  groups.set(artifact, [...(groups.get(artifact) ?? []), group])
  for (const name of names) byName.set(name, [...(byName.get(name) ?? []), { group, artifact }])
}

/** The artifacts whose manifests say this module or bundle name: more than one where the project changed its group. */
export const artifactsNamed = (name: string): readonly Coordinates[] => byName.get(name) ?? []

/** The groups under which the project itself publishes or published this artifact. */
export const homesOf = (artifact: string): readonly string[] => groups.get(artifact) ?? []

/**
 * Old jars of Apache without a pom whose manifest gives their version beside the folder of their classes. Builds write
 * it there; their Bundle-Version and the names that distributions give them stay behind: xercesImpl 2.12.2 of Debian is
 * `xercesImpl-2.12.0.jar` with the Bundle-Version 2.11.0.
 */
export const FOLDERS_WITH_VERSION: ReadonlyMap<string, Coordinates> = new Map([
  ['org/apache/xerces/impl/', { group: 'xerces', artifact: 'xercesImpl' }],
  ['org/apache/xalan/', { group: 'xalan', artifact: 'xalan' }],
  ['org/apache/xml/serializer/', { group: 'xalan', artifact: 'serializer' }],
])
