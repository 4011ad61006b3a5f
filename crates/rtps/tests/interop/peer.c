/* A peer of Cyclone DDS, which writes or reads samples of Telemetry.idl.
 *
 *   peer pub|sub <domain> <volatile|transient> <first> <count> <raw length>
 *
 * It says `ready` when its endpoint is there, `matched` when another is, one line for each sample that it has read, and
 * `written` when everything is acknowledged. It ends when its standard input does, or when a subscriber has read all.
 * A publisher of one sample then disposes of it.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "dds/dds.h"
#include "Telemetry.h"

#define TOPIC "FloeTelemetry"

static void check(dds_return_t code, const char *what) {
  if (code < 0) {
    fprintf(stderr, "%s: %s\n", what, dds_strretcode(-code));
    exit(1);
  }
}

static int is_input_open(void) {
  struct pollfd input = {.fd = 0, .events = POLLIN};
  char bytes[64];
  if (poll(&input, 1, 0) <= 0) return 1;
  return read(0, bytes, sizeof bytes) > 0;
}

static void fill(Telemetry_Sample *s, int32_t k, uint32_t raw_len) {
  static Telemetry_Point points[3];
  static char label[64];
  uint32_t count = (uint32_t)k % 4;
  for (uint32_t i = 0; i < count; i++) points[i] = (Telemetry_Point){.x = i, .y = k};
  memset(s, 0, sizeof *s);
  s->id = k;
  s->mode = (Telemetry_Mode)(k % 3);
  s->origin = (Telemetry_Point){.x = k, .y = -k};
  s->track._buffer = points;
  s->track._length = s->track._maximum = count;
  s->raw._length = s->raw._maximum = raw_len;
  s->raw._buffer = malloc(raw_len + 1);
  for (uint32_t i = 0; i < raw_len; i++) s->raw._buffer[i] = (uint8_t)(i * 7 + (uint32_t)k);
  s->ok = k % 2;
  s->stamp = (int64_t)k * 10000000000;
  s->level = k / 4.0;
  snprintf(label, sizeof label, "Größe-%d-温度", k);
  s->label = label;
}

static void print(const Telemetry_Sample *s) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < s->raw._length; i++) sum = sum * 31 + s->raw._buffer[i];
  printf("%d %d %g,%g [", s->id, (int)s->mode, s->origin.x, s->origin.y);
  for (uint32_t i = 0; i < s->track._length; i++)
    printf("%s%g,%g", i ? " " : "", s->track._buffer[i].x, s->track._buffer[i].y);
  printf("] %u:%u %d %" PRId64 " %g %s\n", s->raw._length, sum, s->ok, s->stamp, s->level, s->label);
}

static dds_entity_t participant, topic;

static void publish(dds_qos_t *qos, int32_t first, int32_t count, uint32_t raw_len) {
  dds_entity_t writer = dds_create_writer(participant, topic, qos, NULL);
  check(writer, "writer");
  puts("ready");
  dds_publication_matched_status_t status = {0};
  while (status.current_count == 0 && is_input_open()) {
    check(dds_get_publication_matched_status(writer, &status), "status");
    dds_sleepfor(DDS_MSECS(10));
  }
  puts("matched");
  for (int32_t k = first; k < first + count; k++) {
    Telemetry_Sample sample;
    fill(&sample, k, raw_len);
    check(dds_write(writer, &sample), "write");
    free(sample.raw._buffer);
  }
  check(dds_wait_for_acks(writer, DDS_SECS(50)), "acknowledgements");
  puts("written");
  while (is_input_open()) dds_sleepfor(DDS_MSECS(20));
  if (count == 1) {
    Telemetry_Sample sample;
    fill(&sample, first, 0);
    check(dds_dispose(writer, &sample), "dispose");
    check(dds_wait_for_acks(writer, DDS_SECS(50)), "acknowledgement of the end");
  }
}

static void subscribe(dds_qos_t *qos, int32_t count) {
  dds_entity_t reader = dds_create_reader(participant, topic, qos, NULL);
  check(reader, "reader");
  puts("ready");
  int is_matched = 0;
  while (count > 0 && is_input_open()) {
    dds_subscription_matched_status_t status = {0};
    if (!is_matched) {
      check(dds_get_subscription_matched_status(reader, &status), "status");
      if (status.current_count > 0) {
        puts("matched");
        is_matched = 1;
      }
    }
    void *samples[16] = {0};
    dds_sample_info_t infos[16];
    int32_t taken = dds_take(reader, samples, infos, 16, 16);
    check(taken, "take");
    for (int32_t i = 0; i < taken; i++) {
      if (infos[i].valid_data) {
        print(samples[i]);
        count--;
      } else {
        puts(infos[i].instance_state == DDS_IST_NOT_ALIVE_DISPOSED ? "disposed" : "no writers");
      }
    }
    if (taken > 0) check(dds_return_loan(reader, samples, taken), "loan");
    else dds_sleepfor(DDS_MSECS(2));
  }
  puts("end");
}

int main(int argc, char **argv) {
  if (argc != 7) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  int is_transient = strcmp(argv[3], "transient") == 0;
  dds_qos_t *qos = dds_create_qos();
  dds_qset_reliability(qos, DDS_RELIABILITY_RELIABLE, DDS_SECS(50));
  dds_qset_history(qos, DDS_HISTORY_KEEP_ALL, 0);
  if (is_transient) {
    dds_qset_durability(qos, DDS_DURABILITY_TRANSIENT_LOCAL);
    dds_qset_durability_service(qos, 0, DDS_HISTORY_KEEP_ALL, 0, -1, -1, -1);
  }
  participant = dds_create_participant((dds_domainid_t)atoi(argv[2]), NULL, NULL);
  check(participant, "participant");
  topic = dds_create_topic(participant, &Telemetry_Sample_desc, TOPIC, NULL, NULL);
  check(topic, "topic");
  if (strcmp(argv[1], "pub") == 0) publish(qos, atoi(argv[4]), atoi(argv[5]), (uint32_t)atoi(argv[6]));
  else subscribe(qos, atoi(argv[5]));
  check(dds_delete(participant), "delete");
  return 0;
}
